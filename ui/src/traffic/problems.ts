import type { Status } from '../api/types.ts';
import type { Tone } from '../parts/Tag.tsx';

/** Something that an operator should look at. */
export interface Trouble {
  readonly tone: Tone;
  readonly text: string;
}

/** Certificates are renewed well before this. */
const soonMs = 14 * 86_400_000;

/** The present problems of a gateway, the worst ones first. */
export function troublesOf(status: Status, now = Date.now()): readonly Trouble[] {
  const bad = (text: string): Trouble => ({ tone: 'bad', text });
  const warn = (text: string): Trouble => ({ tone: 'warn', text });
  const { config } = status;
  const found = [
    ...(status.readiness === 'ready' ? [] : [warn(`The gateway is ${status.readiness}.`)]),
    ...(config.synchronized
      ? []
      : [bad('The newest configuration was refused, and the one before it is in use.')]),
    ...config.problems.map(bad),
    ...status.closedPorts.map(({ port, problem }) => bad(`Port ${port} is closed: ${problem}`)),
    ...status.brokenRoutes.map(({ route, problem }) => bad(`Route ${route} answers 500: ${problem}`)),
    ...status.certificates.flatMap(({ certificate, state, problem, expiresAt }) => {
      if (state !== 'ready') return [bad(`Certificate ${certificate} is ${state}: ${problem ?? ''}`)];
      if (expiresAt === null || Date.parse(expiresAt) - now > soonMs) return [];
      return [warn(`Certificate ${certificate} expires at ${expiresAt}.`)];
    }),
    ...status.keySets.flatMap(({ source, state, problem }) => {
      if (state === 'ready') return [];
      const text = `Key set ${source} is ${state}${problem === undefined ? '' : `: ${problem}`}`;
      return [state === 'waiting' ? bad(text) : warn(text)];
    }),
    ...status.workers.flatMap(({ worker, state }) =>
      state === 'serving' ? [] : [warn(`Worker ${worker} is ${state}.`)],
    ),
    ...config.warnings.map(warn),
  ];
  return found.toSorted((a, b) => Number(b.tone === 'bad') - Number(a.tone === 'bad'));
}
