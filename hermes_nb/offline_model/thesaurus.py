"""Which words mean nearly the same, so that a prompt need not name its tool: everyday and data-work English.

Notions are parted by `|`; the first word is a notion's head. A word may belong to several. Phrases (`how far`:
`distance`) stand for the words they imply.
"""

from __future__ import annotations

import functools

from hermes_nb.offline_model.words import stem

_GROUPS = """
filmography film movie actor played starred | passenger traveler seat adult person | combine interact mix together
safe | luggage suitcase bag baggage | distance kilometer km mile meter far | plot histogram scatter chart graph
boxplot figure | weather forecast climate rain rainy raining snow sunny sun cloudy windy wind umbrella temperature hot
cold warm storm | weather meteorological humidity | temperature degrees celsius fahrenheit warm warmer cold colder hot
heat heating thermostat chilly | currency money exchange rate dollar euro pound yen convert conversion forex | convert
conversion change transform turn translate express | translate translation say language render | language tongue
spanish french german english italian japanese chinese portuguese russian | remind reminder remember alarm todo task
note | calendar schedule appointment event meeting agenda plan | meeting appointment call event sync conference |
schedule arrange organize book plan setup | book reserve reservation booking order | hotel room accommodation stay
lodging motel hostel | flight fly plane airline airfare airport | trip travel journey vacation holiday visit tour |
distance far length away apart separation between | route path way direction drive itinerary navigate | drive driving
car | walk walking foot | duration long time takes length last | time clock hour oclock | date day calendar | weekday
day week | age old years | height tall high altitude elevation | weight heavy mass weigh | mass weight heavy | speed
fast velocity quick pace | velocity speed fast | size big large dimension area | depth deep | width wide breadth |
count number quantity many occurrences often frequency total | frequency often times occurrences count | sum add plus
total together | add plus sum append insert put include | subtract minus difference less deduct | divide divided
quotient ratio split | power exponent raise raised exponentiate squared cubed | square squared | root roots zeros
solutions | solve solution roots equation | factorial factor | prime primality | average mean avg | mean average avg |
median middle | maximum max highest largest greatest biggest most top peak best | minimum min lowest smallest least
fewest bottom worst | top best highest leading most largest biggest first | rank ranking top best leaderboard sort
order | deviation spread variation vary variability dispersion std standard scatter | variance vary variation spread
variability | correlation correlate related relationship relation association connected linked depend | distribution
histogram spread | histogram distribution bins | plot chart graph draw visualize visualise visualization diagram
figure picture display show | draw plot sketch paint picture | statistics stats summary statistical describe overview
| describe summary overview profile explain inspect statistics statistically | summary summarize summarise overview
gist digest abstract brief short tldr | percentile quantile quartile | probability chance likelihood odds likely |
predict prediction forecast estimate project projection expect | forecast predict prediction future outlook projection
| train fit learn learning build | model classifier regressor estimator regression | evaluate score assess accuracy
performance measure good test benchmark quality | regression fit linear trend | cluster segment group clustering |
split divide separate partition | sample random pick draw choose | random randomly shuffle pick generate dice coin |
dice die roll throw | flip toss coin | trial toss flip attempt times experiment repetition | filter keep only where
select rows subset restrict narrow condition | select choose pick filter | sort order rank arrange ascending
descending | group aggregate per each by breakdown | aggregate summarize combine group roll | merge join combine
concatenate link | join merge combine | pivot reshape | drop remove delete discard clean rid exclude eliminate strip |
delete remove erase drop cancel clear rid trash | missing null nan empty na incomplete blank | duplicate duplicates
repeated unique dedupe | unique distinct different | rename name | column field variable feature attribute | row
record entry line observation | table dataset frame dataframe data sheet spreadsheet | database db sql query table |
query sql select search question statement | search find look lookup locate seek query google | missing gap hole
absent | fill replace impute substitute complete | find search look lookup locate | lookup look find fetch retrieve
status details | read open load view content contents show cat | load read import open ingest | write save store
export output | save write store export persist keep | file document path doc | folder directory | document file doc
documents paper report page | log logs logfile | text string sentence paragraph words message | word words | replace
substitute change swap | change modify edit update alter set replace adjust | update change modify edit refresh set |
create make new open add generate build start write | open start create launch | start begin launch run activate turn
begin | stop end halt terminate kill shut cancel pause | restart reboot relaunch reset bounce | run execute perform
launch | deploy release ship rollout publish push | version release | service server daemon application app process |
environment env stage | disk storage drive space capacity full | usage used consumption utilization use | memory ram |
cpu processor load | test check verify validate try | check verify validate test inspect whether | validate valid
check verify correct | compare versus vs difference compared comparison against | email mail e-mail message write send
| send mail email message dispatch deliver post forward | message text sms notify chat | notify alert inform
notification message | recipient receiver addressee | subject title topic | body content text message | title name
heading headline | name called titled named label labelled | ticket issue bug task case | priority urgent urgency
importance | assign assignee owner responsible | bug issue defect error problem | task todo job item | project
initiative | customer client buyer account user | client customer | user account person member | employee staff worker
colleague | person people individual employee customer client contact student patient user member colleague citizen |
company business firm corporation organization enterprise | contact phone person address | phone telephone number call
mobile | order purchase buy acquire | buy purchase order acquire | sell sale sold selling | sales revenue sold
turnover selling | revenue sales turnover income earnings | profit earnings margin gain income | income salary wage
earnings pay | salary pay wage income earnings compensation | cost price expense charge fee | price cost worth value
quote much expensive cheap | value worth price | stock share equity ticker symbol shares | stock inventory supply left
available | inventory stock warehouse | supply reorder restock order | product item article goods merchandise sku |
article product item sku | discount reduce reduction off cheaper rebate sale | tax vat duty | invoice bill | payment
pay installment repay | pay payment | loan mortgage credit debt borrow | mortgage loan house | interest rate savings
compound | savings save deposit invest | invest investment portfolio stock | investment invest return | portfolio
holdings investments assets | account bank | transaction payment transfer purchase booking | transfer send move wire |
balance amount money | budget spending money | region area zone territory | country nation state | city town place
location | location place city where address position | place location city somewhere | restaurant food eat dinner
dining cuisine | recipe cook cooking dish meal bake | ingredient food | calorie calories nutrition diet | movie film
cinema | music song play track listen artist | song music track | play listen | book novel title | author writer wrote
written | artist singer band musician | news headline article | image picture photo | video clip | light lamp lights |
switch turn toggle | room bedroom kitchen | timer countdown alarm | list enumerate show | shopping groceries grocery |
pack packing suitcase bring | holiday holidays vacation | leap 366 | year annual annually yearly | month monthly |
week weekly | hour hourly | minute minutes | late delayed delay | download fetch get | upload send push | compress zip
archive | encrypt cipher encode | decode decrypt | hash checksum digest | password passphrase secret | generate create
make produce | url link website page site web | web website page internet online site | language tongue | sentiment
mood feeling emotion opinion tone | keyword keywords words terms important | extract pull get | detect recognize
identify determine find | classify categorize label class | category class kind type | similar similarity like alike
close resemble | pattern regex expression match | match matching pattern | occur occurrence appear appears | reverse
backwards inverted mirror | uppercase capital capitals upper caps | lowercase lower | length long | area surface size
| volume capacity loud | perimeter circumference | triangle triangular | circle circular | angle degrees | energy
power | force newton | derivative differentiate slope | integral integrate area | matrix matrices | vector vectors |
equation formula | formula equation expression chemical | molar mole molecular | element atomic chemical | gene
genetic dna | cell biological | population inhabitants people populous | law legal lawsuit court case | court legal judge |
crime criminal | patient medical health doctor | doctor physician medical cardiologist dermatologist dentist surgeon
pediatrician neurologist psychiatrist oncologist | specialist specialty expert doctor | concert gig show tour perform
performance live play band | last end tail bottom final latest recent | first begin head top start | hospital clinic
medical | bmi body | player athlete | team club squad | game match | score result points goals | tournament
championship league | win won winner champion | history historical past event | war battle | museum gallery exhibition
| hire employ recruit | rent lease | ride taxi cab uber | train railway rail | bus coach | ship delivery shipping
deliver parcel package | package parcel shipment | track tracking trace follow | status state condition progress |
history past changes develop developed development evolution | trend develop evolution | growth grow increase |
increase raise grow up | decrease reduce lower cut down | threshold limit cutoff | low running little scarce short |
limit maximum most cap | join member | available availability free | free available | cancel abort | approve accept
confirm | reject decline refuse | fix repair | error failure fail problem | tip gratuity | student pupil learner
school | grade mark score result school | course class subject lesson lecture school | enroll register sign join
subscribe | exam test quiz examination | teacher professor instructor | borrow lend loan checkout | overdue late due
expired | return give back | sensor meter probe device thermometer | reading measurement value sensor | electricity
power energy consumption | alert alarm warn notify notification threshold | solar sun panel photovoltaic | building
house site property facility | production output produce yield generate | consumption usage use consume | cart basket
| coupon voucher code promo | redeem apply use | parcel package shipment weight | series sequence signal | sampling
resample frequency interval | outlier anomaly unusual extreme abnormal anomalous | rolling moving window smooth |
horizon ahead future steps | unittest test suite pytest | commit change revision log history | branch git repository
repo | format tidy lint pretty beautify style | install add setup pip | package library module dependency | fuel
petrol gas gasoline diesel | charger charge charging station | garage service workshop appointment maintenance
inspection | tyre tire wheel | park parking | toll fee | drive route way directions trip | campaign ad advertising
advertisement promotion | click impression view | newsletter mailing email subscribers | subscriber member reader
follower | churn leave cancel left attrition | visitor user traffic | segment audience group | apartment flat house
home property rent | agent broker | insurance policy claim premium cover | crypto bitcoin coin token ethereum | wallet
balance account | vaccine shot immunization | symptom diagnose disease illness condition | medicine drug medication
pill dose prescription | exercise workout training fitness gym sport | calorie burn energy | sleep rest | plant crop
garden seed | water drink hydration | soil field farm | animal pet dog cat | machine device equipment appliance |
maintenance repair service | shift roster schedule | factory plant production | defect fault error failure | batch lot
| vote election poll | planet star moon astronomy space | orbit satellite | galaxy universe | chemical element atom
compound | reaction compound | protein amino gene | wave signal frequency | voltage volt current resistance ohm |
circuit electric electrical | pressure force | contract agreement document | clause term | sign signature |
presentation slide deck | comment review feedback | rating rate stars review score | review opinion feedback rating |
favorite like bookmark | post publish tweet share | hashtag tag topic | tag label | stream broadcast | record
recording | screenshot capture | resize scale shrink enlarge | rotate turn spin | crop cut trim | print printer | scan
scanner ocr | lock unlock key | door gate garage | blind shutter curtain window | vacuum clean robot | laundry washing
wash | oven stove cook | fridge refrigerator | coffee tea espresso brew | television tv channel | speaker sound audio
volume | camera security | ticket seat | cinema theater theatre | league division standings table | standings ranking
table position | coach trainer | departure flight gate | luggage baggage bag | passport visa | border neighbour
neighbor adjacent | inhabitant population people live | river lake water | mountain peak summit | earthquake quake
seismic | tide ocean sea | sunrise sunset dawn dusk | timezone zone offset | festival holiday celebration |
anniversary birthday | countdown remaining left until | stopwatch timer | proportion share percentage fraction |
growth increase rise | margin profit | debt owe | dividend payout yield | bond treasury | inflation cpi | gdp economy
economic | unemployment jobless | bonus incentive | pension retirement | expense spending cost | receipt invoice |
vendor supplier seller | purchase procurement | lead prospect | pipeline funnel | quota target | bill check invoice |
invite guest ask | nutrition protein fat carbs vitamin calorie nutrient healthy diet | wine drink beverage beer | blur
blurry | scale adapt adjust resize enlarge | multiply product multiplied | publish paper article publication study
research journal | cite citation reference quote | match game fixture play versus against
""".split("|")

_PHRASES = {
    "how far": "distance",
    "how long": "duration",
    "how many": "count",
    "how much": "amount",
    "how often": "frequency",
    "how old": "age",
    "how tall": "height",
    "how high": "height",
    "how heavy": "weight",
    "how hot": "temperature",
    "how cold": "temperature",
    "how warm": "temperature",
    "how big": "size",
    "how large": "size",
    "how fast": "speed",
    "how deep": "depth",
    "how wide": "width",
    "what time": "time",
    "what day": "weekday",
    "which day": "weekday",
    "how good": "evaluate",
    "how well": "evaluate",
    "how full": "usage",
    "get rid": "remove",
    "look up": "lookup",
    "set up": "create",
    "look like": "describe",
    "day of the week": "weekday",
    "turn on": "switch",
    "turn off": "switch",
    "how is the weather": "weather",
    "running low": "low",
    "running out": "low",
    "take off": "discount",
    "percent off": "discount",
    "% off": "discount",
    "who wrote": "author",
    "in total": "sum",
    "on average": "average",
    "made of": "composition",
    "how expensive": "price",
    "how likely": "probability",
    "most common": "frequency",
    "go up": "increase",
    "go down": "decrease",
    "add up": "sum",
    "take away": "subtract",
    "to the power of": "power",
    "square root": "sqrt",
    "where": "location",
    "when": "date",
    "who is": "person",
    "who are": "person",
    "how come": "why",
    "remember to": "task",
    "what new": "news",
    "new about": "news",
    "worth": "value",
    "plus": "add",
    "minus": "subtract",
    "over time": "line",
    "get from": "route",
    "get to": "route",
    "go from": "route",
    "made from": "ingredient",
    "out of": "without",
    "make up": "generate",
    "come up with": "generate",
    "write down": "note",
    "worth of": "value",
}

PHRASES = {tuple(stem(w) for w in phrase.split()): stem(word) for phrase, word in _PHRASES.items()}


@functools.cache
def notions(word_stem: str) -> frozenset[int]:
    """Numbers of the notions a stem belongs to; a notion whose first word it is counts like the others."""
    return _index().get(word_stem, frozenset())


@functools.cache
def _index() -> dict[str, frozenset[int]]:
    index: dict[str, set[int]] = {}
    for number, line in enumerate(_GROUPS):
        for word in line.split():
            index.setdefault(stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in index.items()}


@functools.lru_cache(maxsize=65536)
def similarity(a: str, b: str) -> float:
    """1 for equal stems, 0.7 for the head of a shared notion, 0.55 for its other words, 0.5 for a long common beginning."""
    if a == b:
        return 1.0
    shared = notions(a) & notions(b)
    if shared:
        heads = {_head(n) for n in shared}
        return 0.7 if a in heads or b in heads else 0.45
    short, long = sorted((a, b), key=len)
    if len(short) >= 4 and long.startswith(short) and len(long) - len(short) <= 4:
        return 0.6
    if len(short) >= 6 and long[: len(short) - 1] == short[:-1]:
        return 0.6
    return 0.6 if len(short) >= 6 and _is_misspelled(short, long) else 0.0


def _is_misspelled(a: str, b: str) -> bool:
    """Whether one edit (a letter more, less, other, or two swapped) makes one of the other."""
    if a[0] != b[0] or len(b) - len(a) > 1:
        return False
    i = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) < len(b):
        return a[i:] == b[i + 1 :]
    return a[i + 1 :] == b[i + 1 :] or (a[i : i + 2] == b[i : i + 2][::-1] and a[i + 2 :] == b[i + 2 :])


@functools.cache
def _head(number: int) -> str:
    return stem(_GROUPS[number].split(maxsplit=1)[0])
