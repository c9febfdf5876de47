import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { clientMembers } from '../messages/clientMembers.ts';
import { envelopeOf, memberOf, readEnvelope, type Envelope, type Fault, type Span } from './envelope.ts';
import { oneLine } from './oneLine.ts';
import { Outline, type WatchedMembers } from './outline.ts';
import { Elements } from './scan.ts';

/** @param slice bytes at a time */
function outline(text: string, slice = Infinity): Outline {
  const one = new Outline(Buffer.from(text), { watched: clientMembers, maxMessages: 3 });
  while (!one.run(slice));
  return one;
}

const readOutlined = (text: string, slice?: number): Envelope | Fault => {
  const { messages } = outline(text, slice);
  assert.equal(messages.length, 1);
  return envelopeOf(oneLine(text), messages[0]!.members);
};

/** Without what was found before. */
const bare = (span: Span | undefined): Span | undefined => span && { start: span.start, end: span.end };

const withBareSpans = (message: Envelope): Envelope => ({
  ...message,
  body: bare(message.body),
  idSpan: bare(message.idSpan)!,
});

/** Every watched member within a value, found before or searched for, by its path. */
function found(text: string, span: Span | undefined, watched: WatchedMembers): Record<string, unknown> {
  const all: Record<string, unknown> = {};
  for (const [name, inner] of watched) {
    const at = memberOf(text, span, name);
    all[name] = typeof at === 'object' ? bare(at) : at;
    if (typeof at === 'object' && inner !== undefined)
      for (const [path, place] of Object.entries(found(text, at, inner))) all[`${name}.${path}`] = place;
  }
  return all;
}

function assertSame(text: string, slice: number): void {
  const line = oneLine(text);
  const searched = readEnvelope(line);
  const outlined = readOutlined(text, slice);
  if (typeof searched === 'string' || typeof outlined === 'string') {
    assert.equal(outlined, searched, text);
    return;
  }
  const { body } = outlined;
  assert.deepEqual(withBareSpans(outlined), withBareSpans(searched), text);
  const names = clientMembers.get('params')!;
  assert.deepEqual(found(line, body, names), found(line, searched.body, names), text);
}

function namesIn(watched: WatchedMembers): string[] {
  return [...watched].flatMap(([name, inner]) => [name, ...(inner === undefined ? [] : namesIn(inner))]);
}
const names = [...new Set(namesIn(clientMembers))];

/** Spellings of a key that some reader takes for the name. */
const spelled = (name: string, how: number): string => {
  if (how === 1) return name.toUpperCase();
  if (how === 2) return name.replace('s', 'ſ');
  return name;
};

/** The key as JSON: as it is, or with its first character escaped. */
const written = (key: string, escaped: boolean): string =>
  escaped && key !== ''
    ? `"\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${JSON.stringify(key.slice(1)).slice(1)}`
    : JSON.stringify(key);

const key = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...names) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...names), fc.nat(2)).map(([name, how]) => spelled(name, how)),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('2.0', 'ping', '\u2028', '\u0085é\u2029𝄞', '"{}', '\\', '\\"'),
);
/** Objects of few keys, so that many of them meet. */
const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
  object: fc
    .array(fc.tuple(key, fc.nat(9), tie('value')), { maxLength: 7 })
    .map((members) => `{${members.map(([k, how, v]) => `${written(k, how === 0)}:${v}`).join(',')}}`),
  value: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(
      text.map((one) => JSON.stringify(one)),
      fc.constantFrom('1', '-0.5e3', 'true', 'null', '{}', '[]'),
    ),
    tie('object'),
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }).map((all) => `[${all.join(',')}]`),
  ),
}));
const extra = fc.array(fc.tuple(key, value), { maxLength: 2 });
/** No batch. */
const other = value.filter((text) => !text.startsWith('['));
const message = fc.tuple(value, extra, fc.boolean(), fc.boolean()).map(([inside, more, isRequest, first]) => {
  const rest = more.map(([k, v]) => `,${written(k, false)}:${v}`).join('');
  const begin = isRequest ? '"method":"tools/call","params"' : '"result"';
  const own = `"jsonrpc":"2.0","id":"é\u2028"`;
  return first ? `{${begin}:${inside}${rest},${own}}` : `{${own},${begin}:${inside}${rest}}`;
});

test('the outline of a message finds the same members as a search of its text', () => {
  fc.assert(
    fc.property(
      fc.oneof({ weight: 6, arbitrary: message }, other),
      fc.integer({ min: 1, max: 40 }),
      assertSame,
    ),
    { numRuns: 3_000 },
  );
});

test('members that are repeated or spelled like watched ones are found where they are ambiguous', () => {
  const call = (params: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  for (const params of [
    '{"name":"a","name":"b"}',
    '{"name":"a","Name":"b"}',
    '{"NAME":"b","name":"a"}',
    '{"na\\u006de":"b","name":"a"}',
    '{"name":"a","name":{"name":"c"},"uri":1}',
    '{"_meta":{"progreſsToken":1,"progressToken":2}}',
    '{"_meta":{"progressToken":2},"_meta":{}}',
    '{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a","taskid":"b"}}}',
    `{"${'\\u006e\\u0061\\u006d\\u0065'}":"b","name":"a"}`,
    `{"name":"a","arguments":{"name":"b"},"x":["name",{"name":1}]}`,
  ])
    for (const slice of [1, 7, Infinity]) assertSame(call(params), slice);
  for (const text of [call('{}').replace('{', '{"Id":2,'), call('{}').replace('{', '{"method":"x",')])
    assert.equal(readOutlined(text), 'ambiguous');
});

test('the messages of a batch have their places, and those within them count from their beginning', () => {
  const some = [
    '{"jsonrpc":"2.0","method":"é","params":{"uri":"\u2028"}}',
    '1',
    '[{"id":1}]',
    '{}',
    '{}',
    '{}',
  ];
  for (let length = 0; length <= some.length; length++) {
    const text = `[${some.slice(0, length).join(',')}]`;
    const line = oneLine(text);
    const elements = new Elements(line, 0);
    const expected: Span[] = [];
    while (elements.next()) expected.push({ start: elements.start, end: elements.end });
    for (const slice of [1, 5, Infinity]) {
      const { messages, isBatch } = outline(text, slice);
      assert.ok(isBatch);
      // The outline records one message more than the limit, which shows that there are too many.
      assert.deepEqual(messages.map(bare), expected.slice(0, 4));
      for (const { start, end, members } of messages.slice(0, 3)) {
        const own = line.slice(start, end);
        const searched = readEnvelope(own);
        const outlined = envelopeOf(own, members);
        if (typeof outlined === 'string') assert.equal(outlined, searched);
        else
          assert.deepEqual(
            withBareSpans(outlined),
            withBareSpans({ ...(searched as Envelope), idSpan: outlined.idSpan }),
          );
      }
    }
  }
});

test('the length of the text is known before it is made', () => {
  for (const text of [
    '""',
    '"é"',
    '"𝄞日x"',
    '"\u2027\u2028\u2029\u202a"',
    '"\u0084\u0085Â…"',
    '["\u0085\\""]',
  ]) {
    const one = outline(text, 1);
    assert.equal(one.length, oneLine(text).length, text);
    assert.equal(one.hasSeparators, oneLine(text) !== text, text);
  }
});
