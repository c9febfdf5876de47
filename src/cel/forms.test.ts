import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allFail, allRefused, allTrue, context, problem, program, run } from './expressions.testing.ts';
import { newMeter, toCel } from './index.ts';

test('default answers for a key or a variable that is not there, and for nothing else', () => {
  allTrue(
    'default(jwt.missing, "x") == "x"',
    'default(jwt.missing.deeper, "x") == "x"',
    'default(request.headers["x-no"], "fallback") == "fallback"',
    'default(jwt.role, "x") == "superadmins"',
    'default(jwt.map["no"], 1) == 1',
    'default(jwt.nothing, 1) == null',
    'default(default(jwt.a, jwt.b), "c") == "c"',
    'jwt.groups.exists(g, default(jwt.map[g], false))',
  );
  allFail('default(jwt.level / (jwt.level - 3), 1) == 1', 'default(jwt.groups[7], 1) == 1');
  allFail('default(fail("no"), 1) == 1', 'default(jwt.missing, jwt.missing) == 1');
  assert.equal(program('default(jwt.sub, "nobody") == "nobody"').run({}, newMeter()), true);
});

test('coalesce passes over failures of any kind and over null', () => {
  allTrue(
    'coalesce(jwt.missing, json(jwt.role), "x") == "x"',
    'coalesce(jwt.nothing, jwt.level) == 3',
    'coalesce(jwt.nothing, jwt.missing) == null',
    'coalesce(jwt.missing, jwt.nothing) == null',
    'coalesce(false, true) == false',
  );
  allFail('coalesce(jwt.missing) == 1', 'coalesce(jwt.missing, json(jwt.role)) == 1');
});

test('fail fails with its reason, and only where it is reached', () => {
  assert.match(String(run('jwt.level == 3 ? fail("level three") : true')), /level three/);
  allTrue('jwt.level == 3 || fail()', 'jwt.level == 4 ? fail() : true');
  assert.equal(program('fail()').canBeTrue, false);
});

test('with names a value for the rest of an expression', () => {
  allTrue(
    'json("{\\"a\\": 1, \\"b\\": 2}").with(b, b.a + b.b) == 3',
    'jwt.groups.with(g, g[0] + g[1]) == "adminsstaff"',
    'jwt.with(j, "admins" in j.groups && j.level == 3)',
    'request.headers.with(h, h["X-One"] == "1" && h.X_ONE == "1" || h["X-ONE"] == "1")',
    '1.with(x, 2.with(x, x) + x) == 3',
    '[1, 2].map(x, x.with(y, y * y)) == [1, 4]',
  );
  allFail('jwt.missing.with(x, true)');
  allRefused(/no member nope/, 'request.with(r, r.nope == "x")');
  assert.equal(problem('request.with(r, r.body == "x")').notBuilt, true);
  allRefused(/name of a variable/, 'jwt.with(1, true)');
  allRefused(/unknown variable x/, 'jwt.with(x, true) && x');
  // The value of the variable must be there as a whole.
  assert.deepEqual(program('request.with(r, r.path == "/" && size(r) > 0)').variables, [
    'request',
    'request.path',
  ]);
});

test('maps are changed by value, chosen by key and joined', () => {
  allTrue(
    '{"a": 1, "b": 2}.mapValues(v, v * 2) == {"a": 2, "b": 4}',
    'jwt.map.mapValues(v, !v).admins == false',
    '{"a": 1, "b": 2}.filterKeys(k, k == "a") == {"a": 1}',
    '{1: "x", 2u: "y"}.filterKeys(k, k > 1) == {2: "y"}',
    'request.headers.filterKeys(k, !k.startsWith("x-")).mapValues(v, size(v)).cookie == 11',
    '{"a": 2, "k": "v"}.merge({"a": 3}) == {"a": 3, "k": "v"}',
    'jwt.merge({"role": "none"}).role == "none" && jwt.role == "superadmins"',
  );
  allFail('jwt.role.mapValues(v, v)', 'jwt.map.mapValues(v, v + 1)', 'jwt.map.filterKeys(k, jwt.level)');
  allRefused(/wants a map/, 'request.path.mapValues(v, v)', '[1].filterKeys(k, true)');
  allRefused(/wants a bool/, 'jwt.map.filterKeys(k, 1)');
});

test('variables are all of them', () => {
  allTrue('variables().jwt.level == 3 && variables().source.port == 40000');
  assert.deepEqual(program('variables().jwt == jwt').variables, ['auth', 'jwt', 'request', 'source']);
});

test('a form with another number of arguments is refused', () => {
  allRefused(/default takes 2 arguments/, 'default(jwt.a)', 'default(jwt.a, 1, 2)');
  allRefused(/takes/, 'coalesce()', 'jwt.with(x)', 'variables(1)', 'jwt.map.mapValues(v)');
  allRefused(/unknown function/, 'with(x, true)', 'jwt.default(1)', 'mapValues(jwt, v, v)');
});

test('loops over the entries of maps count like other loops', () => {
  const large = toCel({ map: Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`k${i}`, i])) });
  const nested = program('size(jwt.map.mapValues(v, size(jwt.map.filterKeys(k, true)))) == 150');
  assert.match(String(nested.run({ ...context, jwt: large }, newMeter())), /comprehension steps/);
  assert.equal(program('size(jwt.map.mapValues(v, v + 1)) == 150').run({ jwt: large }, newMeter()), true);
  const hidden = program('coalesce(jwt.map.mapValues(v, jwt.map.filterKeys(k, true)), true) == true');
  assert.ok(hidden.run({ jwt: large }, newMeter()) instanceof Error, 'coalesce does not hide that');
  const deep = '{"a": 1}.mapValues(a, {"b": 1}.mapValues(b, [1].map(c, [1].map(d, d))))';
  allRefused(/inside each other/, deep);
});
