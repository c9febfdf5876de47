/**
 * A candidate for a lease, as a process that a test can kill: `candidate.ts KUBECONFIG IDENTITY`. Says on its standard
 * output when it begins and ends to lead.
 */
import { kubeAccess } from '../../src/controller/api/access.ts';
import { KubeApi } from '../../src/controller/api/api.ts';
import { Election } from '../../src/controller/leader/election.ts';
import { createLogger, createMetrics } from '../../src/telemetry/index.ts';

const [file = '', identity = ''] = process.argv.slice(2);
const metrics = createMetrics({ process: false });
const api = new KubeApi({ access: await kubeAccess({ file }), metrics, userAgent: 'candidate' });
const election = new Election({
  api,
  namespace: 'default',
  name: 'killed',
  identity,
  onStartedLeading: () => void process.stdout.write('leads\n'),
  onStoppedLeading: () => void process.stdout.write('leads no more\n'),
  log: createLogger({ level: 'error', format: 'text' }),
  metrics,
  pace: { leaseMs: 8_000, renewDeadlineMs: 6_000, retryMs: 200 },
});
process.on('SIGTERM', () => {
  void election.close().then(() => api.close());
});
