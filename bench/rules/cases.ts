/** A rule, and a head of 64 KiB that is made for it. Each looks for the most work that the budget lets through. */
export interface WorstCase {
  readonly rule: string;
  readonly headers: Readonly<Record<string, string>>;
}

const length = 60_000;
const filled = (unit: string): string => unit.repeat(Math.floor(length / unit.length));

const spaces = { 'x-a': filled(' ') };
/** 9 000 parts and a long text beside them. */
const list = { 'x-list': filled('part1,').slice(0, 54_000), 'x-a': 'v'.repeat(6000) };

/** Runs a condition for each of 9 000 parts. */
const each = (condition: string): WorstCase => ({
  rule: `request.headers["x-list"].split(",").all(x, ${condition})`,
  headers: list,
});
const once = (rule: string, text: string): WorstCase => ({ rule, headers: { 'x-a': text } });
const a = 'request.headers["x-a"]';

export const worstCases: readonly WorstCase[] = [
  { rule: `${a}.replace(" ", "-") != ""`, headers: spaces },
  { rule: `${a}.split(" ").join(",") != ""`, headers: spaces },
  once(`${a}.split("").map(c, c + "x").size() > 0`, filled('a')),
  once(`json(${a}) != 1`, `[${filled('1,')}1]`),
  once(`json(${a}) != 1`, `[${filled('{"a":1},')}1]`),
  once(`json(${a}) != 1`, filled('[')),
  once(`toJson(json(${a})) != ""`, `[${filled('{"a":1},')}1]`),
  once(`url.encode(${a}) != ""`, filled("'")),
  once(`url.decode(${a}) != ""`, filled('%41')),
  once(`form.decode(${a}) != {}`, filled('a&')),
  once(`base64.decode(${a}) != b""`, filled('=')),
  once(`int(${a}) > 0`, filled('9').slice(0, 15_000)),
  once(`${a}.lastIndexOf("b" + ${a}.substring(30000)) < 0`, filled('a')),
  once(`${a}.contains(${a}.substring(30000) + "b")`, filled('a')),
  once(`("/?" + ${a}).setQuery("b", "c") != ""`, filled('a&').slice(0, 4500)),
  once(`${a}.matches("(?:a|b)*c") || true`, filled('ab').slice(0, 8000)),
  once(`${a}.matches(".*a.{20}c") || true`, filled('abaabbab').slice(0, 8000)),
  once(`${a}.regexReplace("a*b|", "") != "x"`, filled('a').slice(0, 300)),
  each('request.headers.split()["x-list"].size() > 0'),
  each('request.headers.redacted().size() > 0'),
  each('size(request.headers["x-a"]) > 0'),
  each('json("[1,2,3]") != x'),
  each('x in request.headers["x-list"].split(",")'),
  each('x.lowerAscii() != ""'),
  each('(x + "É").upperAscii() != ""'),
  each('x.matches("^part[0-9]+$")'),
  each('x.matches("^" + x)'),
  each('x.regexReplace("[0-9]", "") != ""'),
  each('sha256.encode(x) != ""'),
  each('base64.decode("aGVsbG8=") != b""'),
  each('{"a": x}.merge({"b": x}) != {}'),
  each('{"a": x} == {"a": x}'),
  each('[x, x] + [x] == [x, x, x]'),
  each('1u + 2u > 0u'),
  each('"%s".format([x]) != ""'),
  each('"%f".format([1.5]) != ""'),
  each('ip("2001:db8::" + "1").isGlobalUnicast()'),
  each('cidr("10.0.0.0/8").containsIP("10.1." + "1.1")'),
  each('duration("1h" + "") > duration("1s")'),
  each('timestamp("2026-01-02T03:04:05" + "Z").getHours("Europe/Berlin") > 0'),
  each('form.encode({"a": x}) != ""'),
  each('("/p?" + x + "=1").query(x) != []'),
  each('toJson([x, x]) != ""'),
  each('max([1, 2, 3]) > 0'),
  each('request.headers["x-a"].startsWith(request.headers["x-a"])'),
  each('request.headers["x-a"].endsWith(request.headers["x-a"])'),
  each('request.headers["x-a"] + x != x + request.headers["x-a"]'),
  each('request.headers["x-a"] < request.headers["x-a"] + x'),
  each('(request.headers["x-a"] + x).stripPrefix(request.headers["x-a"]) == x'),
];
