import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problem, program, run } from './expressions.testing.ts';
import { newMeter, toCel } from './index.ts';

test('rules about claims, requests and addresses evaluate as written', () => {
  const rules: [string, unknown][] = [
    ['"admins" in auth.claims.groups', true],
    ['"admins" in jwt.groups', true],
    ['"guests" in jwt.groups', false],
    ['jwt.level == 3 && jwt.ratio > 1', true],
    ['jwt.level > 2.5', true],
    ['jwt["role"] == "superadmins"', true],
    ['has(jwt.groups) && !has(jwt.missing)', true],
    ['jwt.groups.exists(g, g.startsWith("adm"))', true],
    ['jwt.groups.all(g, g != "guests")', true],
    ['size(jwt.groups) == 2', true],
    ['request.method == "GET" || jwt.missing', true],
    ['cidr("10.0.0.0/8").containsIP(source.address)', true],
    ['cidr("10.0.0.0/8").containsIP(ip(source.address))', true],
    ['cidr("2001:db8::/32").containsIP(source.address)', false],
    ['source.port == 40000', true],
    ['request.path.query("x") == ["1", "2"]', true],
    ['request.path.matches("^/a/")', true],
    ['request.path.stripPrefix("/a").startsWith("/b")', true],
    ['sha256.encode("a").startsWith("ca978112")', true],
    ['json("{\\"a\\": [1]}").a[0] == 1', true],
    ['toJson({"a": [1, true]}) == "{\\"a\\":[1,true]}"', true],
    ['string(base64.decode("aGVsbG8=")) == "hello"', true],
    ['url.decode(url.encode("a b/?")) == "a b/?"', true],
    ['{"a": 1}.merge({"b": 2}).b == 2', true],
    ['"id/12/x".regexReplace("[0-9]+", "N") == "id/N/x"', true],
    ['request.method == "GET" ? jwt.level == 3 : false', true],
  ];
  for (const [source, expected] of rules) assert.equal(run(source), expected, source);
});

test('headers are found in any case of name, one line as text and several as a list', () => {
  assert.equal(run('request.headers["X-One"] == "1"'), true);
  assert.equal(run('request.headers.x_missing == "1"') instanceof Error, true);
  assert.equal(run('request.headers["x-two"] == ["a,b", "c"]'), true);
  assert.equal(run('"X-TWO" in request.headers'), true);
  assert.equal(run('request.headers["X-" + "One"] == "1"'), true);
  assert.equal(run('request.headers.raw()["X-One"] == ["1"]'), true);
  assert.equal(run('request.headers.split()["X-Two"] == ["a", "b", "c"]'), true);
  assert.equal(run('request.headers.join()["X-Two"] == "a,b,c"'), true);
  assert.equal(run('request.headers.cookie("sid") == "s1"'), true);
});

test('membership never matches a part of a string, and a missing claim is an error, not a match', () => {
  assert.ok(run('"admins" in jwt.role') instanceof Error);
  assert.ok(run('"admins" in jwt.missing') instanceof Error);
  assert.ok(run('"admins" in jwt.nothing') instanceof Error);
  assert.equal(run('"admins" in jwt.groups'), true);
});

test('claims cannot pose as anything but data', () => {
  const hostile = toCel(
    JSON.parse(
      '{"$typeName":"google.protobuf.Any","constructor":{"name":"x"},"__proto__":{"admin":true},"groups":["g"]}',
    ),
  );
  const rule = program('"g" in jwt.groups && !has(jwt.admin) && jwt.constructor.name == "x"');
  assert.equal(rule.run({ jwt: hostile }, newMeter()), true);
});

test('a problem says where it is', () => {
  const cases: [string, RegExp, number][] = [
    ['jwt.a ==', /syntax error/, 6],
    ['request.paht == "/"', /request has no member paht; it has method, path, headers/, 7],
    ['true || foo', /unknown variable foo/, 8],
    ['nope(1)', /unknown function nope/, 0],
    ['constructor(1)', /unknown function constructor/, 0],
    ['toString', /unknown variable toString/, 0],
    ['request.__proto__', /request has no member __proto__/, 7],
    ['request.path == 1', /a string never equals a int/, 13],
    ['"a" in request.path', /no operator in takes \(string, string\)/, 4],
    ['request.path in [1, 2]', /no element of the list can equal a string/, 13],
    ['request.path && true', /expected bool, found string/, 7],
    ['request.path.foo', /a string has no member foo/, 12],
    ['source.port.all(x, true)', /cannot iterate over a int/, 6],
    ['1 / 0 == 1', /always fails: int divide by zero/, 2],
    ['request.path.matches("(")', /error parsing regexp/, 21],
    ['cidr("10.0.0.0/99").containsIP(source.address)', /not an address range/, 5],
    ['', /empty/, 0],
  ];
  for (const [source, message, offset] of cases) {
    const found = problem(source);
    assert.match(found.message, message);
    assert.ok(Math.abs(found.offset - offset) <= 1, `${source}: ${found.offset} is not ${offset}`);
    assert.equal(found.notBuilt, false);
  }
});

test('known features that are not supported are rejected by name', () => {
  const known = ['request.body == "x"', 'jwt.rawToken == "x"', 'jwt["rawToken"] == "x"'].concat([
    'flatten(jwt)',
    'flattenRecursive(jwt)',
    'jwt.token.unredacted() == "x"',
  ]);
  for (const source of known) {
    const found = problem(source);
    assert.equal(found.notBuilt, true, `${source}: ${found.message}`);
    assert.match(found.message, /is known, but not built yet: |is not available here: /);
  }
});

test('a condition that no data can make true is known beforehand', () => {
  const never = ['false', '1 == 2', 'jwt.a == 1 && false', '!true', '"a" in []', 'false || 1 > 2']
    .concat(['request.path == "/a" && jwt.x == 1 && request.path == "/b"', 'jwt.a == 1 ? false : 1 == 2'])
    .concat(['"text"', 'request.path', '[1].exists(x, x > 1)']);
  for (const source of never) assert.equal(program(source).canBeTrue, false, source);
  const possible = [
    'true',
    'jwt.a',
    '!(jwt.a == 1)',
    'jwt.a == 1 || false',
    'jwt.a == 1 ? false : true',
  ].concat(['request.path == "/a" || request.path == "/b"', 'request.path == "/a" && jwt.b == "/b"']);
  for (const source of possible) assert.equal(program(source).canBeTrue, true, source);
});

test('a program says which variables it uses, and a loop variable of the same name is not one', () => {
  assert.deepEqual(program('jwt.a == request.path && request.headers.b == "x"').variables, [
    'jwt',
    'request.headers',
    'request.path',
  ]);
  assert.equal(program('request.path == "/"').uses('request'), true);
  assert.equal(program('request.path == "/"').uses('request.method'), false);
  assert.deepEqual(program('["a"].exists(jwt, jwt == "a")').variables, []);
});

test('a nested loop over large data runs out of steps, also behind an or', () => {
  const many = toCel({ list: Array.from({ length: 1000 }, (_, i) => i) });
  const rule = program('jwt.list.all(a, jwt.list.all(b, a + b >= 0)) || jwt.list.all(c, c >= 0)');
  const result = rule.run({ jwt: many }, newMeter());
  assert.ok(result instanceof Error);
  assert.match(result.message, /comprehension steps/);
  assert.equal(program('jwt.list.all(a, a >= 0)').run({ jwt: many }, newMeter()), true);
});

test('source texts are bounded in length, depth and nesting', () => {
  assert.match(problem(`"${'a'.repeat(5000)}" == ""`).message, /longer than/);
  assert.match(problem(`${'('.repeat(2000)}true${')'.repeat(2000)}`).message, /nested|longer/);
  assert.match(problem(`${'['.repeat(200)}jwt.a${']'.repeat(200)}`).message, /nested deeper/);
  const loops = '[1].all(a, [1].all(b, [1].all(c, [1].all(d, true))))';
  assert.match(problem(loops).message, /comprehensions inside each other/);
});

test('a hostile pattern against a long text takes linear time', () => {
  const text = toCel({ text: `${'a'.repeat(5000)}!` });
  assert.equal(program('jwt.text.matches("^(a+)+$")').run({ jwt: text }, newMeter()), false);
});
