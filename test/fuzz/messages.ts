import type { Random } from './random.ts';

/** Field lines that decide about framing, sound and unsound, after the published smuggling lists. */
const framing: readonly string[] = [
  'Content-Length: 5',
  'content-length:5',
  'Content-Length:  5 ',
  'Content-Length: 0',
  'Content-Length: 005',
  'Content-Length: +5',
  'Content-Length: -5',
  'Content-Length: 5,5',
  'Content-Length: 5, 6',
  'Content-Length: 0x5',
  'Content-Length: 5 6',
  'Content-Length:',
  'Content-Length: 5.0',
  'Content-Length: 18446744073709551621',
  'Content-Length: 99999999999999999999999999',
  'Content-Length : 5',
  'Content-Length\x0b: 5',
  'Content_Length: 5',
  'Transfer-Encoding: chunked',
  'transfer-encoding:CHUNKED',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: chunked ',
  'Transfer-Encoding: chunked\t',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunkedx',
  'Transfer-Encoding: x chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: identity, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, gzip',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: chunked,',
  'Transfer-Encoding: chunked;q=1',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: ',
  'Transfer-Encoding:',
  'Transfer-Encoding: \x0bchunked',
  'Transfer-Encoding: \x0cchunked',
  'Transfer-Encoding: \xa0chunked',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding\t: chunked',
  ' Transfer-Encoding: chunked',
  'Transfer-Encoding:\r\n chunked',
  'Transfer-Encoding:\n chunked',
  'Transfer-Encoding: chunked\r',
  'Transfer_Encoding: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked',
];

const others: readonly string[] = [
  'Accept: */*',
  'X-Empty:',
  'X-Tab:\ta\tb\t',
  'X-Latin: caf\xe9 \x80\xff',
  'X-Long: ' + 'y'.repeat(300),
  'Connection: close',
  'Connection: keep-alive',
  'Connection: close, keep-alive',
  'Connection: Keep-Alive, x-foo',
  'Connection: upgrade',
  'Connection: \xa0close',
  'connection:CLOSE ',
  'Upgrade: websocket',
  'Keep-Alive: timeout=5',
  'Proxy-Connection: close',
  'Expect: 100-continue',
  'Trailer: x-sum',
  'TE: trailers',
  'Cookie: a=b; c=d',
  "X-!#$%&'*+.^_`|~: ok",
  'X\0Y: z',
  'X Y: z',
  'X: y\0z',
  'X: y\x7fz',
  'X: y\x01z',
  ': empty',
  'nocolon',
  'X:y: z',
  '\tfolded: x',
  'Host: second.test',
];

const hosts = [
  'Host: a',
  'host: example.com:80',
  'HOST:\ta ',
  'Host: [::1]',
  'Host: a b',
  'Host:',
  'Host: a,b',
  '',
];
const targets = [
  '/',
  '/a/b?c=d',
  '/%2e%2e/x',
  'http://example.com/a?b',
  '*',
  '/a#b',
  '/caf\xe9',
  '/a|b{c}',
  'a',
  'example.com:80',
  '//a//b',
  '/a?b?c',
  '/a\\b',
  '/\x01',
];
const versions = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/0.9',
  'http/1.1',
  'HTTP/1.1 ',
  'HTTP/1.',
  'HTTP/1.10',
];
const methods = [
  'GET',
  'POST',
  'POST',
  'PUT',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'get',
  'M-SEARCH',
  'CONNECT',
  'G\0T',
];
const sizes = [
  '5',
  '05',
  '5;a=b',
  '5;a="b c"',
  '5;',
  '5 ',
  ' 5',
  '+5',
  '0x5',
  '5;\xe9',
  '5;a\nb',
  'fffffffffffffffff',
  '1g',
  '',
  '5;a\x00',
];
const ends = ['\n', '\r', '\r\r\n', '\r\n ', '\r\n\t', ''];
const trailers = [
  '',
  '',
  'X-Sum: 1\r\n',
  'Content-Length: 5\r\n',
  'X : 1\r\n',
  ' X: 1\r\n',
  'X: \x01\r\n',
  'X: 1\n',
  'Transfer-Encoding: chunked\r\n',
];
const noise = '\0\x01\t\n\x0b\x0c\r\x1f "(),/:;<=>?@[\\]{}\x7f\x80\x85\xa0\xff0123456789abcxHTP-';

/** A request, mostly right; the more `spice` (0 to 1), the less. */
function request(random: Random, spice: number): string {
  const odd = (): boolean => random.chance(spice);
  const end = (): string => (odd() && random.chance(0.1) ? random.pick(ends) : '\r\n');
  const space = (): string => (odd() && random.chance(0.05) ? random.pick(['  ', '\t', '', '\x0b']) : ' ');
  const method = odd() ? random.pick(methods) : random.pick(['GET', 'POST']);
  const version = odd() ? random.pick(versions) : 'HTTP/1.1';
  const lines = [odd() ? random.pick(hosts) : 'Host: a'].filter((line) => line !== '');
  let body = '';
  const kind = random.below(4);
  if (kind === 1) {
    lines.push('Content-Length: 5');
    body = 'hello';
  } else if (kind === 2) {
    lines.push('Transfer-Encoding: chunked');
    body = chunks(random, spice);
  } else if (kind === 3 && odd()) {
    lines.push(random.pick(framing));
    body = random.chance(0.5) ? 'hello' : chunks(random, spice);
  }
  while (random.chance(0.4)) lines.push(random.pick(odd() ? framing : others));
  for (let i = lines.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [lines[i], lines[j]] = [lines[j] as string, lines[i] as string];
  }
  return (
    (odd() && random.chance(0.2) ? random.pick(['\r\n', '\r\n\r\n', '\n', '\r', ' ']) : '') +
    `${method}${space()}${odd() ? random.pick(targets) : '/x'}${space()}${version}${end()}` +
    lines.map((line) => line + end()).join('') +
    end() +
    body
  );
}

function chunks(random: Random, spice: number): string {
  const odd = (): boolean => random.chance(spice);
  const end = (): string => (odd() && random.chance(0.1) ? random.pick(ends) : '\r\n');
  let text = '';
  const count = random.below(3);
  for (let i = 0; i < count; i++) text += `${odd() ? random.pick(sizes) : '5'}${end()}hello${end()}`;
  return `${text}${odd() ? random.pick(['0', '00', '0;x', '0 ']) : '0'}${end()}${odd() ? random.pick(trailers) : ''}${end()}`;
}

/** An answer, mostly right. */
function answer(random: Random, spice: number): string {
  const odd = (): boolean => random.chance(spice);
  const end = (): string => (odd() && random.chance(0.1) ? random.pick(ends) : '\r\n');
  const version = odd() ? random.pick(versions) : 'HTTP/1.1';
  const status = odd()
    ? random.pick(['204', '304', '404', '100', '103', '99', '600', '2000', '20', '20x', '+200', '200', '500'])
    : '200';
  const reason = odd() ? random.pick(['', ' ', ' O\0K', ' \xe9', ' OK  ', '  OK', ' O\rK']) : ' OK';
  const lines: string[] = [];
  let body = '';
  const kind = random.below(4);
  if (kind === 1) {
    lines.push('Content-Length: 5');
    body = 'hello';
  } else if (kind === 2) {
    lines.push('Transfer-Encoding: chunked');
    body = chunks(random, spice);
  } else if (kind === 3) {
    if (odd()) lines.push(random.pick(framing));
    body = random.chance(0.5) ? 'hello' : chunks(random, spice);
  }
  while (random.chance(0.4)) lines.push(random.pick(odd() ? framing : others));
  return `${version} ${status}${reason}${end()}${lines.map((line) => line + end()).join('')}${end()}${body}`;
}

/** A few bytes wrong: dropped, doubled, changed, put in, or two places swapped. */
function mutate(random: Random, text: string): string {
  let out = text;
  for (let n = 1 + random.below(3); n > 0 && out.length > 0; n--) {
    const at = random.below(out.length);
    const byte = random.pick([...noise]);
    const length = 1 + random.below(4);
    switch (random.below(5)) {
      case 0:
        out = out.slice(0, at) + out.slice(at + length);
        break;
      case 1:
        out = out.slice(0, at + length) + out.slice(at);
        break;
      case 2:
        out = out.slice(0, at) + byte + out.slice(at + 1);
        break;
      case 3:
        out = out.slice(0, at) + byte + out.slice(at);
        break;
      default: {
        const from = random.below(out.length);
        out = out.slice(0, at) + out.slice(from, from + 8) + out.slice(at);
      }
    }
  }
  return out;
}

/** The input of a connection: one to three requests, sound or not, and a last one that tells the end. */
export function requests(random: Random): Buffer {
  const spice = random.pick([0, 0.1, 0.3, 0.6]);
  let text = '';
  for (let n = 1 + random.below(3); n > 0; n--) {
    const one = request(random, spice);
    text += random.chance(0.4) ? mutate(random, one) : one;
  }
  return Buffer.from(`${text}GET /marker HTTP/1.1\r\nHost: marker\r\n\r\n`, 'latin1');
}

/** The output of a backend for a request: interim answers, the answer, and sometimes more than it was asked for. */
export function answers(random: Random): Buffer {
  const spice = random.pick([0, 0.1, 0.3, 0.6]);
  const early = random.chance(0.1) ? 'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n' : '';
  const one = answer(random, spice);
  const text = random.chance(0.4) ? mutate(random, one) : one;
  return Buffer.from(`${early}${text}${random.chance(0.2) ? answer(random, 0) : ''}`, 'latin1');
}
