import assert from "node:assert/strict";
import { test } from "node:test";
import "../../test/page.js";
import { Prose } from "../src/turn/markdown.js";

function prose(text, isOpen = false) {
  const made = new Prose();
  made.set(text, isOpen);
  return made.element;
}

test("Markdown becomes elements", () => {
  const made = prose("# Five\n\n- **one**\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n");
  assert.equal(made.querySelector("h1").textContent, "Five");
  assert.deepEqual(
    [...made.querySelectorAll("li")].map(li => li.textContent),
    ["one", "two"],
  );
  assert.equal(made.querySelectorAll("td")[1].className, "hnbr-right");
});

test("raw HTML stays text", () => {
  const made = prose('<img src=x onerror="alert(1)"> and <script>alert(1)</script>\n\n<div>block</div>');
  assert.equal(made.querySelector("img, script"), null);
  assert.match(made.textContent, /<img src=x onerror="alert\(1\)"> and <script>/);
  assert.match(made.textContent, /<div>block<\/div>/);
});

test("an image is not loaded", () => assert.equal(prose("![a](https://x.example/a.png)").querySelector("img"), null));

for (const [url, isLive] of [
  ["https://x.example/a", true],
  ["mailto:a@x.example", true],
  ["./file.txt", true],
  ["javascript:alert(1)", false],
  ["data:text/html,hi", false],
  ["//x.example", false],
  ["vbscript:x", false],
]) {
  test(`a link to ${url} is ${isLive ? "live" : "text"}`, () =>
    assert.equal(Boolean(prose(`[go](${url})`).querySelector("a")), isLive));
}

test("a live link opens elsewhere and tells nobody where from", () => {
  const link = prose("[go](https://x.example)").querySelector("a");
  assert.deepEqual([link.getAttribute("target"), link.getAttribute("rel")], ["_blank", "noopener noreferrer nofollow"]);
});

test("a text that grows word by word looks as if it had come at once", () => {
  const text = "First *paragraph*.\n\n1. one\n2. two\n\n```python\nx = 1\n\ny = 2\n```\n\nLast.";
  const grown = new Prose();
  for (let n = 1; n <= text.length; n++) grown.set(text.slice(0, n), n < text.length);
  assert.equal(grown.element.textContent.replace(/\s+/g, " "), prose(text).textContent.replace(/\s+/g, " "));
  assert.equal(grown.element.querySelectorAll("pre").length, 1);
  assert.equal(grown.element.querySelectorAll("ol").length, 1);
});

test("blocks that are over are drawn once", () => {
  const made = new Prose();
  made.set("One.\n\nTwo", true);
  const first = made.element.querySelector("p");
  made.set("One.\n\nTwo and more", true);
  assert.equal(made.element.querySelector("p"), first);
});

test("a block of code is handed on once, when it is over", () => {
  const seen = [],
    made = new Prose({ onCode: (pre, isOpen) => isOpen || seen.push(pre.textContent) });
  made.set("```\nx = 1\n", true);
  assert.deepEqual(seen, []);
  made.set("```\nx = 1\n```\n\nAfter", true);
  made.set("```\nx = 1\n```\n\nAfter it", false);
  assert.deepEqual(seen, ["x = 1\n"]);
});

test("another text takes the place of the first", () => {
  const made = new Prose();
  made.set("One.\n\nTwo.", false);
  made.set("Three.", false);
  assert.equal(made.element.textContent.trim(), "Three.");
});

test("what is too long to be parsed is shown as it is", () => {
  const made = prose("*".repeat(200_001));
  assert.equal(made.querySelector("pre").textContent.length, 200_001);
});

test("tasks have boxes, <br> breaks a line, and text runs as its first letter does", () => {
  const prose = new Prose();
  prose.set("- [x] asked\n- [ ] next\n\n| a |\n|---|\n| one<br>two |\n\nשלום.", false);
  const { element } = prose;
  assert.deepEqual(
    [...element.querySelectorAll("li")].map(li => li.textContent.trim()),
    ["☑ asked", "☐ next"],
  );
  assert.equal(element.querySelectorAll("td br").length, 1);
  assert.ok([...element.querySelectorAll("p, li, td, th")].every(one => one.getAttribute("dir") === "auto"));
});

test("what is half written is held back while it streams, and shown when it is over", () => {
  const shown = text => {
    const prose = new Prose();
    prose.set(text, true);
    return prose.element;
  };
  assert.equal(shown("Ada and **Barba").querySelector("strong").textContent, "Barba");
  assert.equal(shown("Ada and **").textContent.trim(), "Ada and");
  assert.equal(shown("see `df.hea").querySelector("code").textContent, "df.hea");
  assert.equal(shown("see [the page](https://exam").textContent.trim(), "see the page");
  assert.equal(shown("Now:\n\n| customer | reve").textContent.trim(), "Now:");
  assert.equal(shown("| a | b |\n|---|---|\n| 1 | 2 |\n| 3").querySelectorAll("tbody tr").length, 1);
  assert.equal(shown("```python\na = `1` **").querySelector("code").textContent, "a = `1` **");
  const prose = new Prose();
  prose.set("a **b", true);
  prose.set("a **b", false);
  assert.equal(prose.element.textContent.trim(), "a **b");
});

test("a bare address is a link, without the sentence around it; code and links are left alone", () => {
  const text =
    "See https://x.example/a_b(c), (https://y.example/). `https://z.example` [go](https://w.example) https:// javascript://x";
  const links = [...prose(text).querySelectorAll("a")].map(a => [a.getAttribute("href"), a.textContent, a.rel]);
  const rel = "noopener noreferrer nofollow";
  assert.deepEqual(links, [
    ["https://x.example/a_b(c)", "https://x.example/a_b(c)", rel],
    ["https://y.example/", "https://y.example/", rel],
    ["https://w.example", "go", rel],
  ]);
  assert.match(
    prose(text).textContent,
    /^See https:\/\/x.example\/a_b\(c\), \(https:\/\/y.example\/\)\. https:\/\/z.example go https:/,
  );
});
