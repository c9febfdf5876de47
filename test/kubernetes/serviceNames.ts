/**
 * The names of Services for the test bed, where pods ask the node for them: `NAME.NAMESPACE.svc.cluster.local` has the
 * address of the Service, and nothing else exists. `node test/kubernetes/serviceNames.ts KUBECONFIG ADDRESS`, until it is
 * ended.
 */
import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';
import { kubeAccess } from '../../src/controller/api/access.ts';
import { KubeApi } from '../../src/controller/api/api.ts';
import { keyOf, type KubeObject } from '../../src/controller/api/object.ts';
import { Informer } from '../../src/controller/watch/informer.ts';
import { trimMetadata } from '../../src/controller/watch/trim.ts';
import { WatchMetrics } from '../../src/controller/watch/watchMetrics.ts';
import { createLogger, createMetrics } from '../../src/telemetry/index.ts';

interface Service extends KubeObject {
  readonly spec: { readonly clusterIP?: string };
}

/** Types of records (RFC 1035 §3.2.2). */
const ipv4 = 1;
const noSuchName = 3;
const headLength = 12;

interface Question {
  /** Lower case, without the last dot. */
  readonly name: string;
  readonly type: number;
  /** The end of the name in the message. */
  readonly end: number;
}

/** The first question of a message; undefined where there is none that can be read. */
function questionIn(message: Buffer): Question | undefined {
  const labels: string[] = [];
  let at = headLength;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 5;
  if (end > message.length) return undefined;
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end };
}

/** RFC 1035 §4.1: the question again, and the address after it where it is asked for. */
function answerTo(message: Buffer, { type, end }: Question, address: string | undefined): Buffer {
  const head = Buffer.from(message.subarray(0, headLength));
  const found = address !== undefined && type === ipv4;
  // An answer, with authority, recursion as asked.
  head.writeUInt16BE(0x8400 | (head.readUInt16BE(2) & 0x0100) | (address === undefined ? noSuchName : 0), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(found ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const question = message.subarray(headLength, end);
  if (!found) return Buffer.concat([head, question]);
  // The name as it stands in the question, A, IN, five seconds, four bytes.
  const record = Buffer.from([0xc0, headLength, 0, ipv4, 0, 1, 0, 0, 0, 5, 0, 4]);
  return Buffer.concat([head, question, record, Buffer.from(address.split('.').map(Number))]);
}

const [file = '', host = ''] = process.argv.slice(2);
const log = createLogger({ level: 'info', format: 'text' });
const metrics = createMetrics({ process: false });
const informer = new Informer<Service>({
  api: new KubeApi({ access: await kubeAccess({ file }), metrics, userAgent: 'test-service-names' }),
  resource: { group: '', version: 'v1', plural: 'services', kind: 'Service', namespaced: true },
  trim: (object) => trimMetadata(object) as Service,
  log,
  metrics: new WatchMetrics(metrics),
});
const socket = createSocket('udp4');
socket.on('message', (message, { address: from, port }) => {
  const question = questionIn(message);
  if (question === undefined) return;
  const [, name = '', namespace = ''] = /^([^.]+)\.([^.]+)\.svc\.cluster\.local$/.exec(question.name) ?? [];
  const service = [...informer.objects.list()].find(
    ({ metadata }) => keyOf(metadata.namespace, metadata.name) === `${namespace}/${name}`,
  );
  const { clusterIP = '' } = service?.spec ?? {};
  socket.send(answerTo(message, question, isIPv4(clusterIP) ? clusterIP : undefined), port, from);
});
socket.bind(53, host);
