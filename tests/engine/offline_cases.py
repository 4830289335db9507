"""Prompts and the calls they ask for, over toolboxes of five very different tools each.

`TUNED` was looked at while the offline model was written; `HELD_OUT` was written before it and never tuned for. A tool is
written `name(parameter: type = default "description", ...) "description"`; `tool_of` makes the schema.
A case is (prompt, tool, arguments); tool None: nothing fits, nothing is called; arguments ASK: words are asked for instead.
"""

import json
import re

ASK = "ASK"

_PARAMETER = re.compile(
    r'\s*(?P<name>\w+)\s*:\s*(?P<type>[\w\[\]|]+(?:\([^)]*\))?)(?:\s*=\s*(?P<default>"[^"]*"|[^",\s]+))?(?:\s*"(?P<text>[^"]*)")?\s*(?:,|$)'
)
_TYPES = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "time": {"type": "string", "format": "time"},
}


def _schema(kind):
    if kind.startswith("enum("):
        values = [json.loads(v) if v.lstrip("-").isdigit() else v for v in kind[5:-1].split("|")]
        return {"type": "string" if isinstance(values[0], str) else "integer", "enum": values}
    if kind.startswith("list["):
        return {"type": "array", "items": _schema(kind[5:-1])}
    return dict(_TYPES[kind])


def tool_of(text):
    """The function of a tool written in the short form."""
    name, rest = text.split("(", 1)
    inside, description = rest.rsplit(')', 1)
    properties, required = {}, []
    position = 0
    inside = inside.strip()
    while position < len(inside):
        match = _PARAMETER.match(inside, position)
        assert match, f"{name}: {inside[position:]!r}"
        position = match.end()
        schema = _schema(match["type"])
        if match["default"] is None:
            required.append(match["name"])
        elif match["default"] == "None":
            schema = {"anyOf": [schema, {"type": "null"}], "default": None}
        else:
            value = match["default"]
            schema["default"] = (
                value.strip('"') if schema["type"] == "string"
                else json.loads(value.lower())
            )
        if match["text"]:
            schema["description"] = match["text"]
        properties[match["name"]] = schema
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name.strip(), "description": description.strip().strip('"'), "parameters": parameters}


TUNED = {
    "everyday": (
        [
            'get_weather(city: str "Name of the city", unit: enum(celsius|fahrenheit) = celsius "Temperature unit") "Current weather in a city."',
            'convert_currency(amount: float, source: str "ISO code of the currency to convert from", target: str "ISO code of the currency to convert to") "Convert an amount of money between currencies."',
            'add_reminder(text: str "What to remember", due: date "Day of the reminder") "Put a reminder in the calendar."',
            'translate(text: str, language: str "Target language") "Translate a text into another language."',
            'roll_dice(sides: int = 6, count: int = 1 "How many dice") "Roll dice and return the sum."',
        ],
        [
            ("What's the weather in Paris?", "get_weather", {"city": "Paris"}),
            ("How warm is it in New York, in fahrenheit please?", "get_weather", {"city": "New York", "unit": "fahrenheit"}),
            ("Will I need an umbrella in Bergen?", "get_weather", {"city": "Bergen"}),
            ("Convert 250 USD to EUR", "convert_currency", {"amount": 250, "source": "USD", "target": "EUR"}),
            ("How many euros do I get for 1,200.50 dollars?", "convert_currency", {"amount": 1200.5, "source": "USD", "target": "EUR"}),
            ("Remind me to call the dentist on 2025-03-14.", "add_reminder", {"text": "call the dentist", "due": "2025-03-14"}),
            ("Translate 'good morning' into Spanish", "translate", {"text": "good morning", "language": "Spanish"}),
            ("How do you say \"thank you\" in Japanese?", "translate", {"text": "thank you", "language": "Japanese"}),
            ("Roll three twenty-sided dice", "roll_dice", {"sides": 20, "count": 3}),
            ("Throw a die.", "roll_dice", {}),
            ("roll_dice(sides=8, count=2)", "roll_dice", {"sides": 8, "count": 2}),
            ("Who wrote War and Peace?", None, None),
            ("Write me a poem about the sea.", None, None),
            ("What's the weather like?", "get_weather", ASK),
        ],
    ),
    "sales": (
        [
            'top_customers(n: int = 3) "Customers with the highest revenue."',
            'revenue_by_region(region: str = None "Region, all when left out", year: int = None) "Total revenue per region."',
            'find_order(order_id: int) "Look up one order by its number."',
            'monthly_sales(month: enum(January|February|March|April|May|June|July|August|September|October|November|December), year: int) "Sales figures of one month."',
            'apply_discount(sku: str "Article number", percent: float "Discount in percent") "Reduce the price of an article."',
        ],
        [
            ("Which customers matter most, and why?", "top_customers", {}),
            ("Show me the top 5 customers", "top_customers", {"n": 5}),
            ("Who are our ten best clients?", "top_customers", {"n": 10}),
            ("How much revenue did we make in the region EMEA?", "revenue_by_region", {"region": "EMEA"}),
            ("Total turnover for the North region in 2023", "revenue_by_region", {"region": "North", "year": 2023}),
            ("Revenue for each region", "revenue_by_region", {}),
            ("Look up order 48213", "find_order", {"order_id": 48213}),
            ("What is the status of order number 77?", "find_order", {"order_id": 77}),
            ("How were sales in March 2024?", "monthly_sales", {"month": "March", "year": 2024}),
            ("Give me the figures for december of 2022.", "monthly_sales", {"month": "December", "year": 2022}),
            ("Take 15% off article AB-1002", "apply_discount", {"sku": "AB-1002", "percent": 15}),
            ("Apply a discount of 7.5 percent to sku X77", "apply_discount", {"sku": "X77", "percent": 7.5}),
            ("Explain quantum entanglement.", None, None),
            ("What's your favourite colour?", None, None),
        ],
    ),
    "statistics": (
        [
            'mean(values: list[float]) "Arithmetic mean of some numbers."',
            'standard_deviation(values: list[float], ddof: int = 1 "Delta degrees of freedom") "Spread of some numbers."',
            'correlation(x: str "First column", y: str "Second column", method: enum(pearson|spearman|kendall) = pearson) "Correlation between two columns of the data."',
            'histogram(column: str, bins: int = 10) "Plot the distribution of a column."',
            'percentile(column: str, q: float "Between 0 and 100") "Percentile of a column."',
        ],
        [
            ("What's the average of 3, 5 and 10?", "mean", {"values": [3, 5, 10]}),
            ("Compute the mean of [1.5, 2.5, -3]", "mean", {"values": [1.5, 2.5, -3]}),
            ("How much do 4, 8, 15, 16, 23 and 42 vary? Give me the standard deviation.", "standard_deviation", {"values": [4, 8, 15, 16, 23, 42]}),
            ("standard deviation of 1 2 3 4 with ddof 0", "standard_deviation", {"values": [1, 2, 3, 4], "ddof": 0}),
            ("Is there a correlation between age and income?", "correlation", {"x": "age", "y": "income"}),
            ("How are `height` and `weight` related? Use Spearman.", "correlation", {"x": "height", "y": "weight", "method": "spearman"}),
            ("Show a histogram of the price column", "histogram", {"column": "price"}),
            ("Draw the distribution of 'age' with 25 bins", "histogram", {"column": "age", "bins": 25}),
            ("What is the 95th percentile of latency?", "percentile", {"column": "latency", "q": 95}),
            ("Give me the 99.9 percentile of column response_time", "percentile", {"column": "response_time", "q": 99.9}),
            ("Delete all my files", None, None),
            ("Book a table for two at seven", None, None),
        ],
    ),
    "office": (
        [
            'send_email(to: str "Address of the recipient", subject: str, body: str "Text of the message") "Send an e-mail."',
            'schedule_meeting(title: str, date: date, start_time: time, duration_minutes: int = 30, attendees: list[str] = None) "Put a meeting into the calendar."',
            'search_documents(query: str, limit: int = 10, file_type: enum(pdf|docx|txt) = None) "Full-text search in the documents."',
            'create_ticket(title: str, priority: enum(low|medium|high) = medium, assignee: str = None) "Open a ticket in the issue tracker."',
            'word_count(text: str) "Count the words of a text."',
        ],
        [
            ("Send an email to ann@example.com with subject 'Lunch' and body 'Are you free at noon?'", "send_email", {"to": "ann@example.com", "subject": "Lunch", "body": "Are you free at noon?"}),
            ("Mail bob@corp.io, subject \"Report\", saying \"It is attached.\"", "send_email", {"to": "bob@corp.io", "subject": "Report", "body": "It is attached."}),
            ("Schedule a meeting called 'Sprint review' on March 5, 2025 at 2pm for 45 minutes", "schedule_meeting", {"title": "Sprint review", "date": "2025-03-05", "start_time": "14:00", "duration_minutes": 45}),
            ("Set up a meeting titled \"Kickoff\" on 2025-01-20 at 09:30 with Alice and Bob for an hour", "schedule_meeting", {"title": "Kickoff", "date": "2025-01-20", "start_time": "09:30", "duration_minutes": 60, "attendees": ["Alice", "Bob"]}),
            ("Find documents about pricing strategy", "search_documents", {"query": "pricing strategy"}),
            ("Search the documents for \"annual report\", at most 3, only pdf", "search_documents", {"query": "annual report", "limit": 3, "file_type": "pdf"}),
            ("Open a ticket 'Login is broken' with high priority and assign it to Dana", "create_ticket", {"title": "Login is broken", "priority": "high", "assignee": "Dana"}),
            ("Create a low priority ticket titled \"Typo in footer\"", "create_ticket", {"title": "Typo in footer", "priority": "low"}),
            ("How many words are in 'the quick brown fox'?", "word_count", {"text": "the quick brown fox"}),
            ("What's the capital of Australia?", None, None),
            ("Hello!", None, None),
            ("Send an email", "send_email", ASK),
        ],
    ),
    "frame": (
        [
            'filter_rows(column: str, operator: enum(==|!=|>|>=|<|<=), value: float) "Keep the rows of the table where a column fulfils a condition."',
            'group_by(column: str "Column to group by", aggregate: enum(sum|mean|count|min|max) "How to aggregate", value_column: str = None) "Group the table and aggregate."',
            'sort_table(by: str "Column to sort by", ascending: bool = true) "Sort the table."',
            'drop_missing(columns: list[str] = None "Only look at these columns") "Remove rows with missing values."',
            'describe_table() "Summary statistics of the table: rows, columns, types, ranges."',
        ],
        [
            ("Keep only rows where age > 30", "filter_rows", {"column": "age", "operator": ">", "value": 30}),
            ("Filter the table to price <= 9.99", "filter_rows", {"column": "price", "operator": "<=", "value": 9.99}),
            ("Which rows have a score of at least 80?", "filter_rows", {"column": "score", "operator": ">=", "value": 80}),
            ("Group by department and take the average of salary", "group_by", {"column": "department", "aggregate": "mean", "value_column": "salary"}),
            ("Count rows per country", "group_by", {"column": "country", "aggregate": "count"}),
            ("Sort the table by price in descending order", "sort_table", {"by": "price", "ascending": False}),
            ("Order it by last_name", "sort_table", {"by": "last_name"}),
            ("Get rid of the rows with missing values", "drop_missing", {}),
            ("Drop missing values in the columns age and income", "drop_missing", {"columns": ["age", "income"]}),
            ("Describe the table", "describe_table", {}),
            ("What does the data look like, statistically?", "describe_table", {}),
            ("Tell me a joke", None, None),
            ("How tall is the Eiffel Tower?", None, None),
        ],
    ),
    "science": (
        [
            'convert_units(value: float, from_unit: str, to_unit: str) "Convert a quantity from one unit to another."',
            'molar_mass(formula: str "Chemical formula, e.g. H2O") "Molar mass of a compound in g/mol."',
            'solve_quadratic(a: float, b: float, c: float) "Roots of a*x^2 + b*x + c = 0."',
            'is_prime(number: int) "Whether a number is prime."',
            'distance(origin: str, destination: str, mode: enum(driving|walking|cycling) = driving) "Distance between two places."',
        ],
        [
            ("Convert 10 miles to kilometers", "convert_units", {"value": 10, "from_unit": "miles", "to_unit": "kilometers"}),
            ("How many grams are 2.5 pounds?", "convert_units", {"value": 2.5, "from_unit": "pounds", "to_unit": "grams"}),
            ("What's the molar mass of C6H12O6?", "molar_mass", {"formula": "C6H12O6"}),
            ("How heavy is a mole of NaCl?", "molar_mass", {"formula": "NaCl"}),
            ("Solve the quadratic equation with a=1, b=-3 and c=2", "solve_quadratic", {"a": 1, "b": -3, "c": 2}),
            ("Find the roots of the quadratic with coefficients 2, 5 and -3", "solve_quadratic", {"a": 2, "b": 5, "c": -3}),
            ("Is 97 a prime number?", "is_prime", {"number": 97}),
            ("Tell me whether 1,001 is prime", "is_prime", {"number": 1001}),
            ("How far is it from Berlin to Munich?", "distance", {"origin": "Berlin", "destination": "Munich"}),
            ("What is the walking distance between Times Square and Central Park?", "distance", {"origin": "Times Square", "destination": "Central Park", "mode": "walking"}),
            ("Sing a song", None, None),
            ("Who is the president of France?", None, None),
        ],
    ),
    "devops": (
        [
            'restart_service(service: str "Name of the service", environment: enum(staging|production) = staging) "Restart a running service."',
            'tail_log(path: str "Path of the log file", lines: int = 20) "Last lines of a log file."',
            'disk_usage(path: str = "/") "Free and used space of a disk."',
            'run_query(sql: str "SQL statement", timeout_s: int = 30) "Run a SQL query against the database."',
            'deploy(version: str "Version to deploy", environment: enum(staging|production), dry_run: bool = false) "Deploy a version of the application."',
        ],
        [
            ("Restart the billing service in production", "restart_service", {"service": "billing", "environment": "production"}),
            ("Please restart nginx", "restart_service", {"service": "nginx"}),
            ("Show the last 50 lines of /var/log/syslog", "tail_log", {"path": "/var/log/syslog", "lines": 50}),
            ("What's at the end of logs/app.log?", "tail_log", {"path": "logs/app.log"}),
            ("How much space is left on the disk?", "disk_usage", {}),
            ("How full is /data?", "disk_usage", {"path": "/data"}),
            ("Run SELECT count(*) FROM users WHERE age > 30", "run_query", {"sql": "SELECT count(*) FROM users WHERE age > 30"}),
            ("Run the query `select 1` with a timeout of 5 seconds", "run_query", {"sql": "select 1", "timeout_s": 5}),
            ("Deploy version 2.4.1 to staging", "deploy", {"version": "2.4.1", "environment": "staging"}),
            ("Do a dry run of deploying 3.0.0-rc1 to production", "deploy", {"version": "3.0.0-rc1", "environment": "production", "dry_run": True}),
            ("What's for dinner?", None, None),
            ("Deploy to production", "deploy", ASK),
        ],
    ),
}

HELD_OUT = {
    "travel": (
        [
            'search_flights(origin: str, destination: str, date: date, passengers: int = 1) "Find flights between two cities."',
            'book_hotel(city: str, check_in: date, nights: int, stars: int = None "Minimum number of stars") "Book a hotel room."',
            'exchange_rate(base: str "Currency code", quote: str "Currency code") "Today\'s exchange rate between two currencies."',
            'local_time(place: str) "What time it is somewhere."',
            'packing_list(days: int, climate: enum(hot|cold|temperate)) "Suggest what to pack for a trip."',
        ],
        [
            ("Find me a flight from London to Lisbon on 2025-06-01", "search_flights", {"origin": "London", "destination": "Lisbon", "date": "2025-06-01"}),
            ("I want to fly from Boston to San Francisco on July 4, 2025 with 3 passengers", "search_flights", {"origin": "Boston", "destination": "San Francisco", "date": "2025-07-04", "passengers": 3}),
            ("Book a hotel in Rome for 4 nights from 2025-09-10", "book_hotel", {"city": "Rome", "check_in": "2025-09-10", "nights": 4}),
            ("I need a room with at least 4 stars in Vienna, two nights, arriving 12 May 2025", "book_hotel", {"city": "Vienna", "check_in": "2025-05-12", "nights": 2, "stars": 4}),
            ("What's the exchange rate between GBP and JPY?", "exchange_rate", {"base": "GBP", "quote": "JPY"}),
            ("How many CHF is one EUR worth today?", "exchange_rate", {"base": "EUR", "quote": "CHF"}),
            ("What time is it in Tokyo?", "local_time", {"place": "Tokyo"}),
            ("Tell me the current time in Buenos Aires", "local_time", {"place": "Buenos Aires"}),
            ("What should I pack for 5 days somewhere cold?", "packing_list", {"days": 5, "climate": "cold"}),
            ("Packing list for a ten day trip, hot climate", "packing_list", {"days": 10, "climate": "hot"}),
            ("Write a haiku", None, None),
            ("What is the derivative of x squared?", None, None),
        ],
    ),
    "modelling": (
        [
            'train_model(target: str "Column to predict", features: list[str] "Columns to learn from", algorithm: enum(linear|forest|boosting) = linear) "Fit a model on the loaded data."',
            'evaluate_model(model_id: str, metric: enum(accuracy|f1|auc|rmse) = accuracy) "Score a trained model on the test set."',
            'split_data(test_size: float = 0.2 "Fraction of rows for the test set", seed: int = 0) "Split the data into training and test sets."',
            'predict(model_id: str, row: int "Index of the row") "Predict the target for one row."',
            'plot_confusion_matrix(model_id: str, normalize: bool = false) "Show the confusion matrix of a classifier."',
        ],
        [
            ("Train a model to predict churn from age, tenure and plan", "train_model", {"target": "churn", "features": ["age", "tenure", "plan"]}),
            ("Fit a boosting model with target price and features rooms and area", "train_model", {"target": "price", "features": ["rooms", "area"], "algorithm": "boosting"}),
            ("Evaluate the model 'm-17' by f1", "evaluate_model", {"model_id": "m-17", "metric": "f1"}),
            ("How good is model m-3?", "evaluate_model", {"model_id": "m-3"}),
            ("What's the AUC of model churn_v2?", "evaluate_model", {"model_id": "churn_v2", "metric": "auc"}),
            ("Split the data with 30% for testing and seed 42", "split_data", {"test_size": 0.3, "seed": 42}),
            ("Split the dataset into train and test", "split_data", {}),
            ("Predict row 12 with model m-3", "predict", {"model_id": "m-3", "row": 12}),
            ("Show me the confusion matrix for model m-17", "plot_confusion_matrix", {"model_id": "m-17"}),
            ("Plot a normalized confusion matrix of `clf_a`", "plot_confusion_matrix", {"model_id": "clf_a", "normalize": True}),
            ("Order a pizza", None, None),
            ("What's the weather in Madrid?", None, None),
        ],
    ),
    "finance": (
        [
            'stock_price(symbol: str "Ticker symbol", date: date = None "Day of the quote, the latest when left out") "Price of a share."',
            'compound_interest(principal: float, annual_rate: float "Interest per year in percent", years: int) "Value of savings after some years."',
            'loan_payment(amount: float, annual_rate: float "In percent", months: int) "Monthly payment of a loan."',
            'list_transactions(account: str, start: date = None, end: date = None, minimum: float = None "Smallest amount to show") "Transactions of an account."',
            'portfolio_value(currency: enum(USD|EUR|GBP) = USD) "What the whole portfolio is worth."',
        ],
        [
            ("What's the share price of AAPL?", "stock_price", {"symbol": "AAPL"}),
            ("How much did a MSFT stock cost on 2024-11-05?", "stock_price", {"symbol": "MSFT", "date": "2024-11-05"}),
            ("If I save $5,000 at 4% a year, what do I have after 10 years?", "compound_interest", {"principal": 5000, "annual_rate": 4, "years": 10}),
            ("Compound interest on a principal of 12000 at 3.5 percent over 8 years", "compound_interest", {"principal": 12000, "annual_rate": 3.5, "years": 8}),
            ("What would I pay each month on a loan of 250,000 at 4.2% over 360 months?", "loan_payment", {"amount": 250000, "annual_rate": 4.2, "months": 360}),
            ("Monthly payment for a loan of 20k at 6% for 5 years", "loan_payment", {"amount": 20000, "annual_rate": 6, "months": 60}),
            ("List the transactions of account 'savings' from 2024-01-01 to 2024-03-31", "list_transactions", {"account": "savings", "start": "2024-01-01", "end": "2024-03-31"}),
            ("Show transactions on the checking account above 100", "list_transactions", {"account": "checking", "minimum": 100}),
            ("How much is my portfolio worth in euros?", "portfolio_value", {"currency": "EUR"}),
            ("What's the value of my portfolio?", "portfolio_value", {}),
            ("Paint a picture of a cat", None, None),
            ("Why is the sky blue?", None, None),
        ],
    ),
    "text": (
        [
            'count_occurrences(text: str, pattern: str, ignore_case: bool = false) "How often a pattern occurs in a text."',
            'replace_text(path: str, old: str, new: str) "Replace text in a file."',
            'summarize(url: str, sentences: int = 3) "Summary of a web page."',
            'detect_language(text: str) "Which language a text is written in."',
            'extract_keywords(document: str "Name of the document", n: int = 10, language: str = "en") "Most important words of a document."',
        ],
        [
            ("How often does 'na' occur in 'banana'?", "count_occurrences", {"pattern": "na", "text": "banana"}),
            ("Count \"the\" in \"The cat and the dog\" ignoring case", "count_occurrences", {"pattern": "the", "text": "The cat and the dog", "ignore_case": True}),
            ("Replace \"foo\" with \"bar\" in config.yaml", "replace_text", {"path": "config.yaml", "old": "foo", "new": "bar"}),
            ("In src/main.py, change 'colour' to 'color'", "replace_text", {"path": "src/main.py", "old": "colour", "new": "color"}),
            ("Summarize https://example.org/post in 5 sentences", "summarize", {"url": "https://example.org/post", "sentences": 5}),
            ("Give me a short summary of https://example.org/a?b=1", "summarize", {"url": "https://example.org/a?b=1"}),
            ("What language is 'Guten Morgen' written in?", "detect_language", {"text": "Guten Morgen"}),
            ("Extract the 5 most important keywords from report.txt", "extract_keywords", {"document": "report.txt", "n": 5}),
            ("Keywords of the document minutes.docx, please", "extract_keywords", {"document": "minutes.docx"}),
            ("Buy 100 shares of Tesla", None, None),
            ("What is 2 + 2?", None, None),
        ],
    ),
    "home": (
        [
            'set_thermostat(room: str, temperature: float "Degrees Celsius") "Set the heating of a room."',
            'switch_light(room: str, on: bool "True switches it on") "Turn the light of a room on or off."',
            'play_music(artist: str = None, genre: enum(jazz|rock|classical|pop) = None, volume: int = 50 "0 to 100") "Play music."',
            'set_timer(minutes: int, label: str = None) "Start a kitchen timer."',
            'shopping_list_add(item: str, quantity: int = 1) "Add something to the shopping list."',
        ],
        [
            ("Set the bedroom to 19.5 degrees", "set_thermostat", {"room": "bedroom", "temperature": 19.5}),
            ("Make the living room warmer: 22 degrees", "set_thermostat", {"room": "living room", "temperature": 22}),
            ("Turn on the light in the kitchen", "switch_light", {"room": "kitchen", "on": True}),
            ("Switch off the bathroom light", "switch_light", {"room": "bathroom", "on": False}),
            ("Play some jazz", "play_music", {"genre": "jazz"}),
            ("Play music by Miles Davis at volume 30", "play_music", {"artist": "Miles Davis", "volume": 30}),
            ("Set a timer for 12 minutes", "set_timer", {"minutes": 12}),
            ("Start a 5 minute timer labelled \"eggs\"", "set_timer", {"minutes": 5, "label": "eggs"}),
            ("Add six eggs to the shopping list", "shopping_list_add", {"item": "eggs", "quantity": 6}),
            ("Put milk on my shopping list", "shopping_list_add", {"item": "milk"}),
            ("Which planet is the largest?", None, None),
            ("Compute the variance of 1, 2, 3", None, None),
        ],
    ),
    "dates": (
        [
            'days_between(start: date, end: date) "Number of days from one date to another."',
            'add_days(day: date, days: int) "The date some days after another; negative goes back."',
            'weekday(day: date) "Which day of the week a date falls on."',
            'is_leap_year(year: int) "Whether a year has 366 days."',
            'public_holidays(country: str, year: int) "Public holidays of a country in a year."',
        ],
        [
            ("How many days are there between 2024-02-01 and 2024-03-01?", "days_between", {"start": "2024-02-01", "end": "2024-03-01"}),
            ("Number of days from January 1, 2023 to 15 March 2023", "days_between", {"start": "2023-01-01", "end": "2023-03-15"}),
            ("What date is 45 days after 2024-05-20?", "add_days", {"day": "2024-05-20", "days": 45}),
            ("Add -10 days to 2024-01-05", "add_days", {"day": "2024-01-05", "days": -10}),
            ("What weekday was 20 July 1969?", "weekday", {"day": "1969-07-20"}),
            ("On which day of the week does 2025-12-24 fall?", "weekday", {"day": "2025-12-24"}),
            ("Is 2100 a leap year?", "is_leap_year", {"year": 2100}),
            ("Does 2024 have 366 days?", "is_leap_year", {"year": 2024}),
            ("Which public holidays does Germany have in 2025?", "public_holidays", {"country": "Germany", "year": 2025}),
            ("holidays in Brazil 2024", "public_holidays", {"country": "Brazil", "year": 2024}),
            ("Send a mail to my boss", None, None),
            ("How do I bake bread?", None, None),
            ("Which day of the week is it?", "weekday", ASK),
        ],
    ),
    "inventory": (
        [
            'stock_level(product: str, warehouse: str = None) "How many pieces of a product are left."',
            'reorder(product: str, quantity: int, supplier: str = None, express: bool = false "Pay for fast delivery") "Order more of a product."',
            'low_stock(threshold: int = 10) "Products that are running out."',
            'move_items(product: str, quantity: int, from_warehouse: str, to_warehouse: str) "Move pieces from one warehouse to another."',
            'price_history(product: str, start_year: int, end_year: int) "How the price of a product developed."',
        ],
        [
            ("How many 'Blue Lamp' are left?", "stock_level", {"product": "Blue Lamp"}),
            ("What's the stock level of bolts in the Hamburg warehouse?", "stock_level", {"product": "bolts", "warehouse": "Hamburg"}),
            ("Reorder 500 screws", "reorder", {"product": "screws", "quantity": 500}),
            ("Order 20 more 'Oak Table' from supplier Woodworks, express", "reorder", {"product": "Oak Table", "quantity": 20, "supplier": "Woodworks", "express": True}),
            ("Which products are running low?", "low_stock", {}),
            ("What is running out? Use a threshold of 25.", "low_stock", {"threshold": 25}),
            ("Move 40 bolts from Hamburg to Bremen", "move_items", {"product": "bolts", "quantity": 40, "from_warehouse": "Hamburg", "to_warehouse": "Bremen"}),
            ("How did the price of copper develop between 2010 and 2020?", "price_history", {"product": "copper", "start_year": 2010, "end_year": 2020}),
            ("price history of wheat from 1999 to 2005", "price_history", {"product": "wheat", "start_year": 1999, "end_year": 2005}),
            ("Who won the world cup in 2014?", None, None),
            ("Compose a melody", None, None),
        ],
    ),
}


def cases(toolboxes):
    """(box, tools, prompt, tool, arguments) of every case."""
    return [
        (box, [tool_of(t) for t in tools], *case) for box, (tools, prompts) in toolboxes.items() for case in prompts
    ]
