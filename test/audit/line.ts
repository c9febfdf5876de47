/**
 * `npm run audit:line`: CPU time of one line of the audit stream, in a loop without a gateway: the shape of the arguments,
 * the line, its seal, and its bytes. It prints the least and the middle of seven rounds, in microseconds.
 */
import { randomBytes } from 'node:crypto';
import { argumentsView } from '../../src/audit/argumentsView.ts';
import { Chain, ChainKeys } from '../../src/audit/chain.ts';
import { operationLine } from '../../src/audit/lines.ts';
import { WaitingLines } from '../../src/audit/waitingLines.ts';

const view = argumentsView({ arguments: 'shape', redact: [] });
const chain = new Chain('worker-1', new ChainKeys(randomBytes(48)));
const given =
  '{"message":"hello there","customer":{"name":"Ada","id":17},"items":[{"sku":"a","count":2},{"sku":"b","count":1}],"express":true}';
const caller = {
  issuer: 'https://idp.example.com/',
  subject: 'user-17',
  clientId: 'client-1',
  address: '10.0.0.1',
  port: 50_123,
};
const operation = {
  operation: 'tools/call',
  caller,
  requestId: '7a9f0000-1111-4222-8333-444455556666',
  bytesIn: 220,
  listener: 'listener0',
  route: 'mcp',
  traceId: '0af7651916cd43dd8448eb211c80319c',
};
const end = {
  outcome: 'ok',
  durationMs: 12.3456,
  bytesOut: 130,
  target: 'far',
  session: 'ab12cd34',
} as const;

const line = (i: number): string =>
  operationLine(
    {
      ...operation,
      time: 1_795_476_307_000 + i,
      rpcId: String(i),
      details: { kind: 'tool', name: 'echo', arguments: view(given) },
    },
    end,
  );
const pieceBytes = 262_144;
const sealed = new WaitingLines(chain, pieceBytes);
const plain = new WaitingLines(undefined, pieceBytes);
const forms = {
  'with a chain': (i: number) => sealed.push(line(i)),
  'without a chain': (i: number) => plain.push(line(i)),
  'shape of the arguments alone': () => view(given),
};

const lines = 30_000;
for (const [name, make] of Object.entries(forms)) {
  const rounds = Array.from({ length: 8 }, () => {
    const before = process.cpuUsage();
    for (let i = 0; i < lines; i++) {
      make(i);
      if (i % 200 === 0) for (const waiting of [sealed, plain]) waiting.shift();
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / lines;
  })
    // The first round warms up.
    .slice(1)
    .toSorted((a, b) => a - b);
  console.log(`${name}: ${rounds[0]?.toFixed(1)} µs at least, ${rounds[3]?.toFixed(1)} µs in the middle`);
}
