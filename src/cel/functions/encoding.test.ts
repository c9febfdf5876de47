import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allFail, allRefused, allTrue, program, run } from '../expressions.testing.ts';
import { newMeter } from '../index.ts';

test('JSON is read and written', () => {
  allTrue(
    'json("{\\"a\\": [1, 2.5, null]}") == {"a": [1, 2.5, null]}',
    'json(b"[true]")[0]',
    'toJson({"a": [1, true, null], "b": "x"}) == "{\\"a\\":[1,true,null],\\"b\\":\\"x\\"}"',
    'json(toJson(jwt)) == jwt',
  );
  allRefused(/always fails/, 'json("{")', 'json(b"\\xff")');
  allFail('json(jwt.role)', 'toJson(timestamp(jwt.role))', 'toJson(9007199254740993 + jwt.level)');
});

test('the payload of a token is read without a look at its signature', () => {
  const token = `x.${Buffer.from('{"sub":"a"}').toString('base64url')}.y`;
  allTrue(`unvalidatedJwtPayload("${token}").sub == "a"`);
  allRefused(/not a token/, 'unvalidatedJwtPayload("a.b")');
  allRefused(/always fails/, 'unvalidatedJwtPayload("a.b.c")', 'unvalidatedJwtPayload("a.e30=!.c")');
});

test('base64 decoding is strict', () => {
  allTrue(
    'base64.encode("hello") == "aGVsbG8="',
    'base64.encode(b"\\xff") == "/w=="',
    'string(base64.decode("aGVsbG8=")) == "hello"',
    'string(base64.decode("aGVsbG8")) == "hello"',
  );
  allRefused(/not base64/, 'base64.decode("a*b")', 'base64.decode("aGVsbG9=")');
});

test('texts are made fit for URLs and forms and read back', () => {
  allTrue(
    'url.encode("hello world/?x=1") == "hello%20world%2F%3Fx%3D1"',
    'url.encode("!\'()*") == "%21%27%28%29%2A"',
    'url.decode("hello%20world") == "hello world"',
    'url.decode("a+b") == "a+b"',
    'form.decode("a=1&a=2&b=x+y") == {"a": ["1", "2"], "b": "x y"}',
    'form.decode(b"a=%C3%A4").a == "ä"',
    'form.encode({"scope": "openid profile"}) == "scope=openid+profile"',
    'form.encode({"b": [1, true], "a": null, "c": "&"}) == "b=1&b=true&c=%26"',
  );
  allRefused(/always fails/, 'url.decode("%zz")', 'form.encode({1: "a"})', 'form.encode({"a": {}})');
});

test('digests are lower case hexadecimal', () => {
  allTrue(
    'md5.encode("hello") == "5d41402abc4b2a76b9719d911017c592"',
    'sha1.encode(b"hello") == "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"',
    'sha256.encode("hello") == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"',
  );
});

test('functions with changing results are not folded, and the program reports them', () => {
  assert.match(String(run('uuid()')), /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  assert.notEqual(run('uuid()'), run('uuid()'));
  const one = program('uuid()');
  assert.notEqual(one.run({}, newMeter()), one.run({}, newMeter()));
  allTrue('random() >= 0.0 && random() < 1.0');
  assert.equal(program('random() < 0.5').isVolatile, true);
  assert.equal(program('random() < 0.5').canBeTrue, true);
  assert.equal(program('jwt.level == 3').isVolatile, false);
});
