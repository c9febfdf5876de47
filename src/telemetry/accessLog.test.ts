import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessFieldsOf } from './accessFields.ts';
import { createAccessLog } from './accessLog.ts';
import type { AccessRecord } from './contract.ts';
import { MemoryDestination } from './memory.testing.ts';

const record: AccessRecord = {
  time: Date.parse('2026-11-21T10:00:00.007Z'),
  durationMs: 1.2345,
  method: 'GET',
  host: 'api.example.com',
  path: '/v1/things',
  status: 200,
  requestBytes: 0,
  responseBytes: 12,
  client: '10.0.0.1:1234',
  requestId: '7a9f',
  traceparent: undefined,
  bind: '3000',
  listener: undefined,
  route: undefined,
  backend: undefined,
  upstreamMs: undefined,
  subject: undefined,
  error: undefined,
  reason: undefined,
  decidedBy: undefined,
  extra: undefined,
  added: undefined,
};

const write = (kind: 'json' | 'text', ...records: readonly AccessRecord[]): string[] => {
  const destination = new MemoryDestination();
  const log = createAccessLog(kind, { destination });
  for (const each of records) log.write(each);
  log.close();
  return destination.lines;
};

const full: AccessRecord = {
  ...record,
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  listener: 'listener0',
  route: 'route0',
  backend: '127.0.0.1:8000',
  upstreamMs: 0.5,
  subject: 'someone@example.com',
  error: 'upstream_timeout',
  reason: 'no answer in 10 s',
  extra: { tool: 'echo', items: 3 },
};

test('a JSON line has exactly the known fields', () => {
  assert.deepEqual(JSON.parse(write('json', record)[0] ?? ''), {
    time: '2026-11-21T10:00:00.007Z',
    status: 200,
    method: 'GET',
    host: 'api.example.com',
    path: '/v1/things',
    durationMs: 1.235,
    requestBytes: 0,
    responseBytes: 12,
    client: '10.0.0.1:1234',
    requestId: '7a9f',
    bind: '3000',
  });
});

test('a JSON line names route, backend, caller, error, trace and the fields added on the way', () => {
  const line = JSON.parse(write('json', full)[0] ?? '');
  assert.equal(line.traceId, '4bf92f3577b34da6a3ce929d0e0e4736');
  assert.equal(line.parentSpanId, '00f067aa0ba902b7');
  assert.equal(line.upstreamMs, 0.5);
  assert.deepEqual(
    [line.listener, line.route, line.backend, line.subject, line.error, line.reason, line.tool, line.items],
    [
      'listener0',
      'route0',
      '127.0.0.1:8000',
      'someone@example.com',
      'upstream_timeout',
      'no answer in 10 s',
      'echo',
      3,
    ],
  );
});

test('a text line reads from left to right', () => {
  assert.deepEqual(write('text', record, full), [
    '2026-11-21T10:00:00.007Z 200 GET api.example.com/v1/things 1.2ms client=10.0.0.1:1234 id=7a9f',
    '2026-11-21T10:00:00.007Z 200 GET api.example.com/v1/things 1.2ms client=10.0.0.1:1234 route=route0 ' +
      'backend=127.0.0.1:8000 subject=someone@example.com error=upstream_timeout reason="no answer in 10 s" ' +
      'trace=4bf92f3577b34da6a3ce929d0e0e4736 tool=echo items=3 id=7a9f',
  ]);
});

test('a client cannot break or forge an access log line', () => {
  const nasty = 'a"b\\c\n\r\t\u0000\u001b[2J\u007f\u0085\u2028 x=y \ud800 é 漢';
  const hostile = {
    ...full,
    path: nasty,
    requestId: nasty,
    extra: { [nasty]: nasty },
    added: { list: [nasty] },
  };
  const [jsonLine = '', ...noMore] = write('json', hostile);
  assert.deepEqual(noMore, []);
  assert.doesNotMatch(jsonLine, /[\u0000-\u001f\u007f-\u009f\u2028]/);
  const parsed = JSON.parse(jsonLine);
  assert.equal(parsed.path, nasty);
  assert.equal(parsed[nasty], nasty);
  const textLines = write('text', hostile);
  assert.equal(textLines.length, 1);
  assert.doesNotMatch(textLines[0] ?? '', /[\u0000-\u001f\u007f-\u009f\u2028]/);
});

test('credentials in a reason or an added field are replaced', () => {
  const token = `${'eyJhbGciOiJSUzI1NiJ9'}.${'eyJzdWIiOiJhIn0'}.c2ln`;
  const leaky = {
    ...record,
    reason: `refused Bearer ${token}`,
    extra: { 'mcp.resource': `demo://x?token=${token}` },
  };
  for (const kind of ['json', 'text'] as const) {
    const [line = ''] = write(kind, leaky);
    assert.ok(!line.includes('eyJ'), line);
    assert.match(line, /demo:\/\/x\?token=\[redacted\]/);
  }
});

test('an invalid traceparent is left out', () => {
  const line = JSON.parse(write('json', { ...record, traceparent: 'x'.repeat(55) })[0] ?? '');
  assert.equal('traceId' in line, false);
});

test('times are right over the turn of a second, in any order', () => {
  const at = (iso: string) => ({ ...record, time: Date.parse(iso) });
  const isos = ['2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z', '2026-12-31T23:59:59.001Z'];
  assert.deepEqual(
    write('json', ...isos.map(at)).map((line) => JSON.parse(line).time),
    isos,
  );
});

test('rounding never gives a second too few digits', () => {
  const durations = [0, 0.0004, 0.0005, 0.9996, 9.9999, 12_345.678, 59_999.9999];
  const lines = write('json', ...durations.map((durationMs) => ({ ...record, durationMs })));
  for (const [i, line] of lines.entries())
    assert.ok(Math.abs(JSON.parse(line).durationMs - (durations[i] ?? 0)) <= 0.0005001, line);
});

test('the kind none writes nothing', () => {
  const destination = new MemoryDestination();
  const log = createAccessLog('none', { destination });
  log.write(record);
  log.close();
  assert.equal(destination.text, '');
});

test('added fields are the last of their line', () => {
  const added = { tenant: 'blue "1"', n: 3, ok: true, list: ['a', { b: 1 }] };
  const [line = ''] = write('json', { ...record, added });
  assert.deepEqual(Object.entries(JSON.parse(line)).slice(-4), Object.entries(added));
  assert.match(
    write('text', { ...record, added })[0] ?? '',
    / tenant="blue \\"1\\"" n=3 ok=true list="\[\\"a\\",\{\\"b\\":1\}\]" id=7a9f$/,
  );
});

test('removed fields are in no form of the line, and an added field can stand in their place', () => {
  const removed = ['host', 'client', 'subject', 'tool', 'traceId', 'policy', 'reason', 'path'];
  const decidedBy = { policy: 'authorization', rule: 'r1' };
  const lines = (kind: 'json' | 'text'): string => {
    const destination = new MemoryDestination();
    const log = createAccessLog(kind, { destination, removed });
    log.write({ ...full, decidedBy, added: { path: '/hidden' } });
    log.close();
    return destination.lines.join('\n');
  };
  const line = JSON.parse(lines('json'));
  assert.deepEqual(
    removed.filter((name) => name in line),
    ['path'],
  );
  assert.deepEqual([line.path, line.rule, line.items, line.durationMs], ['/hidden', 'r1', 3, 1.235]);
  const text = lines('text');
  for (const gone of [
    'api.example',
    '10.0.0.1',
    'someone',
    'echo',
    '4bf92f',
    'authorization',
    'no answer',
    '/v1',
  ])
    assert.ok(!text.includes(gone), `${gone} in ${text}`);
  assert.match(text, / rule=r1 .*items=3 path=\/hidden id=7a9f$/);
});

test('the fields of exported records are those of the JSON line', () => {
  const records = [
    record,
    full,
    {
      ...full,
      durationMs: 0.0004,
      upstreamMs: 12.34567,
      decidedBy: { policy: 'p', rule: 'Bearer abcdefghijkl', place: 'a:1' },
    },
    { ...full, reason: 'Bearer abcdefghijklmnop', extra: { a: 'Basic abcdefghijkl' } },
  ];
  const lines = write('json', ...records);
  for (const [index, each] of records.entries())
    assert.deepEqual({ ...accessFieldsOf(each), ...each.added }, JSON.parse(lines[index] ?? ''));
});
