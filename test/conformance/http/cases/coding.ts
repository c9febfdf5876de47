import {
  allOddBytes,
  chunked,
  hex,
  isObsText,
  isToken,
  punctuation,
  reads,
  request,
  smuggled,
  SMUGGLED,
  TARGET,
  type RequestCase,
  type Want,
} from '../case.ts';

const ch = (code: number): string => String.fromCharCode(code);
const RULE = 'RFC 9112 §6.1';

/** To a reader of lengths all of it is the body; to a reader of chunks there is a second request in it. */
const BODY = `0\r\n\r\n${smuggled}`;

/** The readings of a message whose odd field counts, and of one where it is any field or none. */
const byCoding = [
  [
    { method: 'POST', target: TARGET, body: '' },
    { method: 'GET', target: SMUGGLED, body: '' },
  ],
];
const byLength = reads(BODY);

interface Expected {
  readonly want: Want;
  readonly readings?: RequestCase['readings'];
}
const refuse: Expected = { want: 'refuse' };
const pass: Expected = { want: 'pass', readings: byLength };
/** Not a coding, and bytes that a reader may forgive. */
const eitherLength: Expected = { want: 'either', readings: byLength };
/** A length and a coding: refused, or read by the coding alone (RFC 9112 §6.3). */
const eitherCoding: Expected = { want: 'either', readings: byCoding };

const NUL = 0;
const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const blank = (code: number): boolean => code === TAB || code === SPACE;
const comma = (code: number): boolean => ch(code) === ',';
const forgiven = (code: number): boolean => code === NUL || code === CR;

/**
 * Places for one byte in and around the field, as the published lists have them, and what that makes of the field: each
 * stands behind a Content-Length and `X-Before: 1`.
 */
const places: Readonly<
  Record<string, readonly [field: (byte: string) => string, expected: (code: number) => Expected]>
> = {
  'before the value': [
    (byte) => `Transfer-Encoding:${byte}chunked`,
    (code) => (blank(code) || forgiven(code) || comma(code) ? eitherCoding : refuse),
  ],
  'behind the name': [
    (byte) => `Transfer-Encoding${byte}: chunked`,
    (code) => (isToken(code) ? pass : refuse),
  ],
  'before the name': [
    (byte) => `${byte}Transfer-Encoding: chunked`,
    (code) => {
      if (isToken(code)) return pass;
      if (blank(code) || code === CR) return eitherLength;
      return code === LF ? { want: 'either', readings: reads('') } : refuse;
    },
  ],
  'behind the value': [
    (byte) => `Transfer-Encoding: chunked${byte}`,
    (code) => (blank(code) || forgiven(code) || comma(code) || code === LF ? eitherCoding : refuse),
  ],
  'behind another value': [
    (byte) => `X: X${byte}Transfer-Encoding: chunked`,
    (code) => {
      if (code === LF) return eitherCoding;
      return (code >= SPACE && code !== 0x7f) || code === TAB ? pass : eitherLength;
    },
  ],
  'before another field': [
    (byte) => `Transfer-Encoding: chunked${byte}X: X`,
    (code) => (code === LF ? eitherCoding : refuse),
  ],
  'behind another value and CR': [
    (byte) => `X: X\r${byte}Transfer-Encoding: chunked`,
    (code) => (code === LF ? eitherCoding : eitherLength),
  ],
  'behind another value, before LF': [
    (byte) => `X: X${byte}\nTransfer-Encoding: chunked`,
    () => eitherCoding,
  ],
  'before another field, behind CR': [
    (byte) => `Transfer-Encoding: chunked\r${byte}X: X`,
    (code) => (code === LF ? eitherCoding : refuse),
  ],
  'before LF and another field': [
    (byte) => `Transfer-Encoding: chunked${byte}\nX: X`,
    (code) => (blank(code) || forgiven(code) || comma(code) || code === LF ? eitherCoding : refuse),
  ],
  'for the hyphen': [
    (byte) => `Transfer${byte}Encoding: chunked`,
    (code) => {
      if (ch(code) === '_') return eitherLength;
      if (ch(code) === '-') return eitherCoding;
      // `Transfer: Encoding: chunked`.
      return isToken(code) || ch(code) === ':' ? pass : refuse;
    },
  ],
  'in the value': [(byte) => `Transfer-Encoding: chu${byte}nked`, () => refuse],
};

const gadget = (id: string, field: string, { want, readings }: Expected): RequestCase => ({
  id: `coding: ${id}`,
  rule: RULE,
  text: request(['X-Before: 1', `Content-Length: ${BODY.length}`, field], BODY),
  want,
  ...(readings !== undefined && { readings }),
});

const bytes: RequestCase[] = Object.entries(places).flatMap(([place, [field, expected]]) =>
  [...allOddBytes, ...punctuation]
    .filter((code) => !(isObsText(code) && /hyphen|in the value/.test(place) && code % 8 !== 0))
    .map((code) => gadget(`${hex(code)} ${place}`, field(ch(code)), expected(code))),
);

/** Fields that are no `Transfer-Encoding: chunked`, and look like it to some. */
const spellings: Readonly<Record<string, Expected>> = {
  'TrAnSfEr-EnCoDiNg: cHuNkEd': eitherCoding,
  'TRANSFER-ENCODING: CHUNKED': eitherCoding,
  'Transfer-Encoding:chunked': eitherCoding,
  'Transfer-Encoding:  chunked': eitherCoding,
  'Transfer-Encoding: \t chunked \t ': eitherCoding,
  'Transfer-Encoding:\r\n chunked': eitherCoding,
  'Transfer-Encoding:\r\n\tchunked': eitherCoding,
  'Transfer-Encoding:\n chunked': eitherCoding,
  'Transfer-Encoding: \r\n chunked': eitherCoding,
  'Transfer-Encoding: chunked\r\n ': eitherCoding,
  'Transfer-Encoding: chunked\r\n\t': eitherCoding,
  'Transfer-Encoding: chu\r\n nked': refuse,
  'Transfer-Encoding: chunked\r\n , identity': refuse,
  'Transfer-Encoding: chunked, cow': refuse,
  'Transfer-Encoding: cow, chunked': refuse,
  'Transfer-Encoding: cow chunked': refuse,
  'Transfer-Encoding: chunked cow': refuse,
  'Transfer-Encoding: chunked;q=1': refuse,
  'Transfer-Encoding: chunked;': refuse,
  'Transfer-Encoding: chunked, identity': refuse,
  'Transfer-Encoding: identity, chunked': refuse,
  'Transfer-Encoding: identity': refuse,
  'Transfer-Encoding: identity;q=1, chunked;q=0': refuse,
  'Transfer-Encoding: gzip, chunked': refuse,
  'Transfer-Encoding: chunked, gzip': refuse,
  'Transfer-Encoding: gzip': refuse,
  'Transfer-Encoding: chunked, chunked': refuse,
  'Transfer-Encoding: chunked chunked': refuse,
  'Transfer-Encoding: chunkedchunked': refuse,
  'Transfer-Encoding: , chunked': eitherCoding,
  'Transfer-Encoding: chunked ,': eitherCoding,
  'Transfer-Encoding: ,,chunked,,': eitherCoding,
  'Transfer-Encoding: "chunked"': refuse,
  "Transfer-Encoding: 'chunked'": refuse,
  'Transfer-Encoding: "chunked': refuse,
  'Transfer-Encoding: chunk': refuse,
  'Transfer-Encoding: chunke': refuse,
  'Transfer-Encoding: chunkedd': refuse,
  'Transfer-Encoding: xchunked': refuse,
  'Transfer-Encoding: x-chunked': refuse,
  'Transfer-Encoding: chunked-x': refuse,
  'Transfer-Encoding: chunKed\xe2\x84\xaa': refuse,
  'Transfer-Encoding: chun\xe2\x84\xaaed': refuse,
  'Transfer-Encoding: \xef\xbb\xbfchunked': refuse,
  'Transfer-Encoding: ch\x96nked': refuse,
  'Transfer-Encoding: chunked\\': refuse,
  'Transfer-Encoding: \\chunked': refuse,
  'Transfer-Encoding: chunked%00': refuse,
  'Transfer-Encoding: %63hunked': refuse,
  'Transfer-Encoding: chunked//': refuse,
  'Transfer-Encoding: chunked(comment)': refuse,
  'Transfer-Encoding: (comment)chunked': refuse,
  'Transfer-Encoding:': refuse,
  'Transfer-Encoding: ,': refuse,
  'Transfer-Encoding: null': refuse,
  'Transfer-Encoding: 0': refuse,
  'Transfer-Encoding: compress': refuse,
  'Transfer-Encoding: deflate': refuse,
  'Transfer-Encoding: trailers': refuse,
  'Transfer-Encoding:: chunked': refuse,
  'Transfer-Encoding: : chunked': refuse,
  'Transfer-Encoding chunked': refuse,
  'Transfer-Encoding = chunked': refuse,
  'Transfer Encoding: chunked': refuse,
  'Transfer-\r\n Encoding: chunked': refuse,
  'Transfer\r-Encoding: chunked': refuse,
  'Transfer-Encoding\r\n: chunked': refuse,
  'Transfer-Encoding\r\n : chunked': refuse,
  'Transf\x82r-Encoding: chunked': refuse,
  'Transfer-Encod\xc4\xb1ng: chunked': refuse,
  'Transfer%2DEncoding: chunked': pass,
  'X-Transfer-Encoding: chunked': pass,
  'Transfer-Encodings: chunked': pass,
  'Transfer-Encodin: chunked': pass,
  'TransferEncoding: chunked': pass,
  'Transfer--Encoding: chunked': pass,
  'Content-Encoding: chunked': pass,
  'Accept-Encoding: chunked': pass,
  'TE: chunked': pass,
  'Trailer: Transfer-Encoding': { want: 'either', readings: byLength },
  'X: Transfer-Encoding: chunked': pass,
  'Transfer-Encoding: cow\r\nTransfer-Encoding: chunked': refuse,
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: cow': refuse,
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked': refuse,
  'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked': refuse,
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity': refuse,
  'Transfer-Encoding: chunked\r\nTransfer-Encoding:': refuse,
  'Transfer-Encoding:\r\nTransfer-Encoding: chunked': refuse,
  'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked': refuse,
  'Transfer-Encoding: chunked\r\nTransfer-encoding: x': refuse,
  'Transfer-Encoding: chunked\r\nContent-Length: 0': refuse,
  'Transfer-Encoding: x\r\nX: y\r\n Transfer-Encoding: chunked': refuse,
};

/** The same fields with the body and the length of the other attack: to a reader of lengths the body ends early. */
const otherWay = (field: string): RequestCase => {
  const inner = `GET ${SMUGGLED} HTTP/1.1\r\nHost: app.test\r\nContent-Length: 15\r\n\r\nx=1`;
  const body = chunked(inner);
  return {
    id: `coding: ${JSON.stringify(field)}, the length ends early`,
    rule: RULE,
    text: request([`Content-Length: ${body.indexOf('\r\n') + 2}`, field], body),
    want: 'refuse',
  };
};

const sound: RequestCase[] = [
  'Transfer-Encoding: chunked',
  'transfer-encoding: chunked',
  'TRANSFER-ENCODING: Chunked',
  'Transfer-Encoding:chunked',
  'Transfer-Encoding:   chunked  ',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: chunked\t',
].map((field) => ({
  id: `coding: ${JSON.stringify(field)} alone`,
  rule: RULE,
  text: request([field], chunked('hello', 'world')),
  want: 'pass' as const,
  readings: reads('helloworld'),
}));

/** Alone, where there is no length to fall back to (RFC 9112 §6.3, rules 4 and 5). */
const alone: RequestCase[] = Object.entries(spellings)
  .filter(([, { want }]) => want === 'refuse')
  .map(([field, { readings }]) => ({
    id: `coding: ${JSON.stringify(field)} alone`,
    rule: 'RFC 9112 §6.3',
    text: request([field], chunked('hello')),
    want: 'refuse' as const,
    ...(readings !== undefined && { readings: reads('') }),
  }));

export const codings: readonly RequestCase[] = [
  ...sound,
  ...Object.entries(spellings).map(([field, expected]) => gadget(JSON.stringify(field), field, expected)),
  ...Object.entries(spellings)
    .filter(([, { want, readings }]) => want === 'refuse' && readings === undefined)
    .map(([field]) => otherWay(field)),
  ...alone,
  {
    id: 'coding: in HTTP/1.0',
    rule: RULE,
    text: request(['Transfer-Encoding: chunked'], chunked('hello'), `POST ${TARGET} HTTP/1.0`),
    want: 'either',
    readings: reads('hello'),
    last: true,
  },
  {
    id: 'coding: in HTTP/1.0 with keep-alive',
    rule: RULE,
    text: request(
      ['Connection: keep-alive', 'Transfer-Encoding: chunked'],
      chunked('hello'),
      `POST ${TARGET} HTTP/1.0`,
    ),
    want: 'either',
    readings: reads('hello'),
    last: true,
  },
  {
    id: 'coding: in HTTP/1.0 with a length',
    rule: RULE,
    text: request(
      [`Content-Length: ${BODY.length}`, 'Transfer-Encoding: chunked'],
      BODY,
      `POST ${TARGET} HTTP/1.0`,
    ),
    want: 'either',
    readings: [reads('')[0] ?? [], byLength[0] ?? []],
    last: true,
  },
  ...bytes,
];
