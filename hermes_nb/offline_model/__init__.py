"""The embedded offline model: an OpenAI-compatible endpoint on loopback that needs no key and no network.

`served` is the endpoint, `plan` decides what to do next in a conversation. A prompt is read by `scene` (with `words`,
`mention`, `date`, `row`, `unit`, `clause`, `literal`), a tool by `profile`; `match` finds the tools, `fill` their arguments
(with `options`, `fit`, `number`, `string`, `choice`, `thesaurus`), `talk` what was said before, `answer` the words.
"""
