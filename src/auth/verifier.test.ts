import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { algorithms, isAlgorithm, type Algorithm } from './algorithms.ts';
import { maxTokenLength } from './compactToken.ts';
import {
  encode,
  fixedKeys,
  goodClaims,
  issuerName,
  makeKey,
  makeToken,
  nowSeconds,
  signatureOf,
  type KeyKind,
} from './token.testing.ts';
import { createVerifier, type TrustedIssuer, type Verdict, type Verifier } from './verifier.ts';

const rsa = makeKey('RSA');
const p256 = makeKey('P-256');
const ed = makeKey('Ed25519');
const all = [rsa, p256, makeKey('P-384'), makeKey('P-521'), ed];
const now = (): number => nowSeconds * 1000;

function verifier(changes: Partial<TrustedIssuer> = {}): Verifier {
  const issuer: TrustedIssuer = {
    issuer: issuerName,
    audiences: ['api://test'],
    requiredClaims: ['exp'],
    leewayMs: 10_000,
    keys: fixedKeys(all),
    ...changes,
  };
  return createVerifier([issuer], now);
}

/** `verified`, `unavailable`, or the reason. */
function outcome(verdict: Verdict | Promise<Verdict>): string {
  assert.ok(!(verdict instanceof Promise));
  return verdict.kind === 'refused' ? verdict.reason : verdict.kind;
}

const judge = (token: string, changes: Partial<TrustedIssuer> = {}): string =>
  outcome(verifier(changes).verify(token));

test('a good token of every algorithm is verified, and one changed bit of its signature is not', () => {
  for (const name of Object.keys(algorithms).filter(isAlgorithm)) {
    const facts = algorithms[name];
    const kind: KeyKind = 'curve' in facts ? facts.curve : 'RSA';
    const key = all.find((one) => one.kid === kind) ?? assert.fail(kind);
    const token = makeToken(name, key);
    assert.equal(judge(token), 'verified', name);
    const [head, body, signature = ''] = token.split('.');
    const bytes = Buffer.from(signature, 'base64url');
    bytes[5] = (bytes[5] ?? 0) ^ 1;
    assert.equal(judge(`${head}.${body}.${bytes.toString('base64url')}`), 'signature', name);
    for (const cut of [
      bytes.subarray(1),
      Buffer.concat([bytes, Buffer.alloc(1)]),
      Buffer.concat([Buffer.alloc(1), bytes]),
    ])
      assert.equal(judge(`${head}.${body}.${cut.toString('base64url')}`), 'signature', name);
  }
});

test('a signature of zeros, or of the order of the curve, fits no key', () => {
  for (const name of Object.keys(algorithms).filter(isAlgorithm)) {
    const facts = algorithms[name];
    const kind: KeyKind = 'curve' in facts ? facts.curve : 'RSA';
    const key = all.find((one) => one.kid === kind) ?? assert.fail(kind);
    const [head, body] = makeToken(name, key).split('.');
    const length = 'bytes' in facts ? facts.bytes : 256;
    for (const fill of [0, 1, 0xff]) {
      const made = Buffer.alloc(length, fill).toString('base64url');
      assert.equal(judge(`${head}.${body}.${made}`), 'signature', `${name} ${fill}`);
    }
  }
  const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551';
  const [head, body] = makeToken('ES256', p256).split('.');
  for (const parts of [order + order, '00'.repeat(32) + order, order + '00'.repeat(32)])
    assert.equal(judge(`${head}.${body}.${Buffer.from(parts, 'hex').toString('base64url')}`), 'signature');
});

test('encrypted tokens and the JSON forms are refused', () => {
  const token = makeToken('RS256', rsa);
  const [protectedHeader, payload, signature] = token.split('.');
  assert.equal(judge(`${token}.AAAA.AAAA`), 'malformed');
  for (const form of [
    { protected: protectedHeader, payload, signature },
    { payload, signatures: [{ protected: protectedHeader, signature }] },
  ])
    assert.equal(judge(JSON.stringify(form)), 'malformed');
});

test('a verified token gives issuer, subject and claims, and the same object as long as it is remembered', () => {
  const check = verifier();
  const token = makeToken('RS256', rsa, { claims: { groups: ['a'] } });
  const first = check.verify(token);
  assert.ok(!(first instanceof Promise) && first.kind === 'verified');
  assert.equal(first.token.subject, 'alice');
  assert.equal(first.token.issuer, issuerName);
  assert.deepEqual(first.token.claims.groups, ['a']);
  assert.equal(check.verify(token), first);
});

test('a remembered token dies at its exp and when the keys change', () => {
  let at = now();
  const keys = fixedKeys([rsa]);
  const check = createVerifier(
    [{ issuer: issuerName, audiences: [], requiredClaims: ['exp'], leewayMs: 0, keys }],
    () => at,
  );
  const token = makeToken('RS256', rsa);
  const first = check.verify(token);
  assert.equal(outcome(first), 'verified');
  keys.add(p256);
  const second = check.verify(token);
  assert.equal(outcome(second), 'verified');
  assert.notEqual(second, first);
  at = goodClaims.exp * 1000;
  assert.equal(outcome(check.verify(token)), 'expired');
});

test('a watch hears of a change of the keys that makes the token invalid, and of no other change', () => {
  const keys = fixedKeys([p256, ed]);
  const watched = verifier({ keys });
  const heard: string[] = [];
  const end = watched.watch(makeToken('ES256', p256), () => heard.push('of the removed key'));
  watched.watch(makeToken('EdDSA', ed), () => heard.push('of another key'));
  watched.watch(makeToken('RS256', rsa), () => heard.push('of an unknown key'));
  watched.watch('no token', () => heard.push('of no token'));
  keys.add(rsa);
  assert.deepEqual(heard, []);
  keys.remove(p256);
  assert.deepEqual(heard, ['of the removed key']);
  end();
  keys.remove(rsa);
  assert.deepEqual(heard, ['of the removed key']);
});

test('none and the HMAC family are refused, also when the public key serves as the secret', () => {
  const body = encode(goodClaims);
  for (const alg of ['none', 'None', 'NONE', 'nOnE', ''])
    assert.equal(judge(`${encode({ alg, kid: rsa.kid })}.${body}.${encode('x')}`), 'algorithm', alg);
  assert.equal(judge(`${encode({ alg: 'none', kid: rsa.kid })}.${body}.`), 'malformed');
  const pem = rsa.privateKey && Buffer.from(JSON.stringify(rsa.jwk));
  for (const [alg, hash] of [
    ['HS256', 'sha256'],
    ['HS384', 'sha384'],
    ['HS512', 'sha512'],
  ] as const) {
    const input = `${encode({ alg, kid: rsa.kid })}.${body}`;
    const mac = createHmac(hash, pem).update(input).digest('base64url');
    assert.equal(judge(`${input}.${mac}`), 'algorithm', alg);
  }
  for (const alg of [1, null, ['RS256'], undefined])
    assert.equal(judge(`${encode({ alg, kid: rsa.kid })}.${body}.${encode('x')}`), 'header');
  for (const alg of ['rs256', 'RS1', 'ES256K', 'A128KW', 'constructor', '__proto__'])
    assert.equal(judge(`${encode({ alg, kid: rsa.kid })}.${body}.${encode('x')}`), 'algorithm', alg);
});

test('the key decides the algorithm, not the token', () => {
  const cases: [Algorithm, string][] = [
    ['ES256', rsa.kid],
    ['RS256', p256.kid],
    ['ES384', p256.kid],
    ['EdDSA', p256.kid],
    ['PS256', ed.kid],
  ];
  for (const [alg, kid] of cases)
    assert.equal(judge(`${encode({ alg, kid })}.${encode(goodClaims)}.${encode('x')}`), 'key_mismatch');
  const onlyPs = makeKey('RSA', 'only-ps', { alg: 'PS256' });
  const keys = fixedKeys([onlyPs]);
  assert.equal(judge(makeToken('PS256', onlyPs), { keys }), 'verified');
  assert.equal(judge(makeToken('RS256', onlyPs), { keys }), 'key_mismatch');
});

test('keys that the token brings or points at are never used', () => {
  const attacker = makeKey('RSA', 'attacker');
  const forged = {
    jwk: attacker.jwk,
    jku: 'http://127.0.0.1:1/keys',
    x5u: 'http://127.0.0.1:1/c',
    x5c: ['AA=='],
  };
  assert.equal(judge(makeToken('RS256', attacker, { header: forged })), 'unknown_key');
  assert.equal(judge(makeToken('RS256', attacker, { header: { ...forged, kid: rsa.kid } })), 'signature');
  // In the header of an otherwise good token they are simply ignored.
  assert.equal(judge(makeToken('RS256', rsa, { header: forged })), 'verified');
});

test('crit and b64 are refused', () => {
  for (const header of [
    { crit: ['exp'] },
    { crit: [] },
    { b64: false },
    { b64: true },
    { crit: ['b64'], b64: false },
  ])
    assert.equal(judge(makeToken('RS256', rsa, { header })), 'critical');
});

test('typ may be absent, JWT or at+jwt, in any case; anything else is a token for something else', () => {
  for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/at+jwt', 'AT+JWT', 'application/jwt'])
    assert.equal(judge(makeToken('RS256', rsa, { header: { typ } })), 'verified', typ);
  for (const typ of ['dpop+jwt', 'logout+jwt', 'secevent+jwt', 'JOSE', '', 1, null, ['JWT']])
    assert.equal(judge(makeToken('RS256', rsa, { header: { typ } })), 'type', String(typ));
});

test('a token without kid, with one that is no text, or with an unknown one is refused', () => {
  const input = (header: object): string => {
    const signed = `${encode(header)}.${encode(goodClaims)}`;
    return `${signed}.${signatureOf('RS256', rsa.privateKey, signed).toString('base64url')}`;
  };
  assert.equal(judge(input({ alg: 'RS256' })), 'no_key_id');
  assert.equal(judge(input({ alg: 'RS256', kid: 1 })), 'header');
  assert.equal(judge(input({ alg: 'RS256', kid: ['RSA'] })), 'header');
  for (const kid of ['other', '', '../../etc/passwd', "' OR 1=1", '__proto__', 'constructor'])
    assert.equal(judge(input({ alg: 'RS256', kid })), 'unknown_key', kid);
});

test('only the one canonical spelling of a token is accepted', () => {
  const token = makeToken('ES256', p256);
  const [head = '', body = '', signature = ''] = token.split('.');
  const last = signature.at(-1) ?? '';
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  // 64 bytes leave four unused bits in the last character; a decoder that ignores them takes the neighbour too.
  const neighbour = alphabet[alphabet.indexOf(last) ^ 1] ?? '';
  const spellings = [
    `${head}.${body}.${signature.slice(0, -1)}${neighbour}`,
    `${token}==`,
    `${token}=`,
    `${head}=.${body}.${signature}`,
    ` ${token}`,
    `${token}\n`,
    `${head}.${body} .${signature}`,
    `${head}.${body}.${signature}.`,
    `${head}.${body}.${signature}.AAAA`,
    `.${token}`,
    `${head}..${signature}`,
    `${head}.${body}`,
    `${head}.${body}.`,
    head,
    '',
    '..',
    '...',
    token.replace(/[-_]/, '+'),
    `${head}.${body}.${signature}é`,
    `${token},${token}`,
    `Bearer ${token}`,
  ].filter((spelling) => spelling !== token);
  for (const spelling of spellings)
    assert.equal(judge(spelling), 'malformed', JSON.stringify(spelling.slice(-12)));
  assert.equal(judge(`${head}.${body}.A`), 'malformed');
});

test('a token over the size limit is refused before anything is decoded', () => {
  const claims = { ...goodClaims, pad: 'x'.repeat(maxTokenLength) };
  assert.equal(judge(makeToken('RS256', rsa, { claims })), 'too_large');
});

test('header and claims must be JSON objects in which no name stands twice', () => {
  const body = JSON.stringify(goodClaims);
  const twice = [
    `${body.slice(0, -1)},"aud":"api://other"}`,
    `${body.slice(0, -1)},"\\u0061ud":"api://other"}`,
    `${body.slice(0, -1)},"nested":{"a":1,"a":2}}`,
    `${body.slice(0, -1)},"list":[{"a":1 ,"a" :2}]}`,
  ];
  const bad = ['[]', '"text"', 'null', '1', '{', '{"a":1}x', '{"a":1,}', "{'a':1}", '\u0000{}', ''];
  for (const claims of [...twice, ...bad.slice(0, -1)])
    assert.equal(judge(makeToken('RS256', rsa, { claims })), 'claims', claims);
  for (const header of [
    `{"alg":"RS256","kid":"RSA","alg":"RS256"}`,
    `{"alg":"RS256","kid":"a","k\\u0069d":"RSA"}`,
  ])
    assert.equal(judge(makeToken('RS256', rsa, { header })), 'header', header);
  // Equal names in different objects, and values that look like names, are fine.
  const fine = `${body.slice(0, -1)},"a":{"x":"x"},"b":{"x":["x","x"]},"c":"\\"a\\":1"}`;
  assert.equal(judge(makeToken('RS256', rsa, { claims: fine })), 'verified');
  const deep = `${body.slice(0, -1)},"d":${'['.repeat(40)}${']'.repeat(40)}}`;
  assert.equal(judge(makeToken('RS256', rsa, { claims: deep })), 'claims');
});

test('claims that are not UTF-8 are refused', () => {
  const raw = Buffer.concat([Buffer.from('{"iss":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
  const input = `${encode({ alg: 'RS256', kid: 'RSA' })}.${raw.toString('base64url')}`;
  const signature = signatureOf('RS256', rsa.privateKey, input).toString('base64url');
  assert.equal(judge(`${input}.${signature}`), 'claims');
});

test('a byte order mark before the header or the claims is refused', () => {
  const bom = Buffer.from([0xef, 0xbb, 0xbf]);
  const part = (value: unknown, mark: boolean): string =>
    Buffer.concat([...(mark ? [bom] : []), Buffer.from(JSON.stringify(value))]).toString('base64url');
  const sign = (input: string): string =>
    `${input}.${signatureOf('RS256', rsa.privateKey, input).toString('base64url')}`;
  const header = { alg: 'RS256', kid: 'RSA' };
  const claims = goodClaims;
  assert.equal(judge(sign(`${part(header, false)}.${part(claims, false)}`)), 'verified');
  assert.equal(judge(sign(`${part(header, false)}.${part(claims, true)}`)), 'claims');
  assert.equal(judge(sign(`${part(header, true)}.${part(claims, false)}`)), 'header');
});

test('iss must be exactly the text of the issuer', () => {
  for (const iss of [
    `${issuerName}/`,
    issuerName.toUpperCase(),
    [issuerName],
    { a: issuerName },
    1,
    null,
    '',
  ])
    assert.equal(judge(makeToken('RS256', rsa, { claims: { iss } })), 'issuer', String(iss));
  assert.equal(judge(makeToken('RS256', rsa, { claims: { iss: undefined } })), 'missing_claim');
});

test('aud is a text or a list of texts with one of ours', () => {
  for (const aud of ['api://test', ['api://test'], ['x', 'api://test']])
    assert.equal(judge(makeToken('RS256', rsa, { claims: { aud } })), 'verified');
  for (const aud of ['api://test2', 'api://tes', 'x api://test', [], ['x'], ''])
    assert.equal(judge(makeToken('RS256', rsa, { claims: { aud } })), 'audience', String(aud));
  for (const aud of [1, null, { 'api://test': 1 }, ['api://test', 1], [['api://test']], true])
    assert.equal(judge(makeToken('RS256', rsa, { claims: { aud } })), 'claims', JSON.stringify(aud));
  assert.equal(judge(makeToken('RS256', rsa, { claims: { aud: undefined } })), 'missing_claim');
  assert.equal(judge(makeToken('RS256', rsa, { claims: { aud: undefined } }), { audiences: [] }), 'verified');
});

test('exp, nbf and iat are numbers and are compared with the leeway', () => {
  const at = (claims: Record<string, unknown>): string => judge(makeToken('RS256', rsa, { claims }));
  assert.equal(at({ exp: nowSeconds - 30 }), 'expired');
  assert.equal(at({ exp: nowSeconds - 10 }), 'expired');
  assert.equal(at({ exp: nowSeconds - 9 }), 'verified');
  assert.equal(at({ exp: nowSeconds - 9.5 }), 'verified');
  assert.equal(at({ nbf: nowSeconds + 10 }), 'verified');
  assert.equal(at({ nbf: nowSeconds + 11 }), 'not_yet_valid');
  assert.equal(at({ iat: nowSeconds + 11 }), 'issued_in_future');
  assert.equal(at({ exp: undefined }), 'missing_claim');
  for (const claim of ['exp', 'nbf', 'iat'])
    for (const value of [String(nowSeconds + 60), null, [nowSeconds + 60], {}, true])
      assert.equal(at({ [claim]: value }), 'claims', `${claim} ${JSON.stringify(value)}`);
  const huge = JSON.stringify(goodClaims).replace(/"exp":\d+/, '"exp":1e999');
  assert.equal(judge(makeToken('RS256', rsa, { claims: huge })), 'claims');
});

test('required claims must be there; sub must be a text', () => {
  const requiredClaims = ['exp', 'nbf', 'sub'];
  assert.equal(judge(makeToken('RS256', rsa), { requiredClaims }), 'missing_claim');
  assert.equal(
    judge(makeToken('RS256', rsa, { claims: { nbf: nowSeconds } }), { requiredClaims }),
    'verified',
  );
  for (const sub of [1, null, ['alice'], { a: 1 }])
    assert.equal(judge(makeToken('RS256', rsa, { claims: { sub } })), 'claims');
  assert.equal(
    judge(makeToken('RS256', rsa, { claims: { exp: undefined } }), { requiredClaims: [] }),
    'verified',
  );
});

test('an unknown key is waited for, and refused when it does not come', async () => {
  const late = makeKey('Ed25519', 'late');
  const keys = fixedKeys([rsa], () => Promise.resolve(keys.add(late)));
  const verdict = verifier({ keys }).verify(makeToken('EdDSA', late));
  assert.ok(verdict instanceof Promise);
  assert.equal(outcome(await verdict), 'verified');
  const never = fixedKeys([rsa], () => Promise.resolve());
  assert.equal(outcome(await verifier({ keys: never }).verify(makeToken('EdDSA', late))), 'unknown_key');
  assert.equal(judge(makeToken('EdDSA', late)), 'unknown_key');
});

test('a fetch that began before the key was published is followed by a second one, and by no third', async () => {
  const late = makeKey('Ed25519', 'late');
  for (const publishedAt of [2, 3]) {
    let fetches = 0;
    const keys = fixedKeys([rsa], () => {
      fetches += 1;
      if (fetches === publishedAt) keys.add(late);
      return Promise.resolve();
    });
    const verdict = await verifier({ keys }).verify(makeToken('EdDSA', late));
    assert.equal(outcome(verdict), publishedAt === 2 ? 'verified' : 'unknown_key');
    assert.equal(fetches, 2);
  }
});

test('before any key is there nothing can be said', () => {
  const keys = { ...fixedKeys([]), ready: false };
  assert.equal(judge(makeToken('RS256', rsa), { keys }), 'unavailable');
  assert.equal(judge('not.a.token', { keys }), 'malformed');
});

test('the claim iss selects the issuer, and keys of another issuer verify nothing', () => {
  const other = makeKey('RSA', 'RSA');
  const base = { audiences: [], requiredClaims: [], leewayMs: 0 };
  const check = createVerifier(
    [
      { ...base, issuer: issuerName, keys: fixedKeys([rsa]) },
      { ...base, issuer: 'https://other.test', keys: fixedKeys([other]) },
    ],
    now,
  );
  const claims = { iss: 'https://other.test' };
  assert.equal(outcome(check.verify(makeToken('RS256', other, { claims }))), 'verified');
  assert.equal(outcome(check.verify(makeToken('RS256', rsa, { claims }))), 'signature');
});
