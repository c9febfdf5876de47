import { maxFileBytesVariable, parseFileLimit } from '../files/index.ts';
import { parseDuration, type ListenAddress } from '../model/index.ts';
import type { Problem } from './problem.ts';
import { expectedWorkers, parseSessionKey, parseWorkers } from './schema/process.ts';
import { parseListenAddress } from '../schema/index.ts';
import type { Environment } from './variables.ts';

/** Settings that environment variables give; they win over the file. */
export interface Overrides {
  readonly admin?: ListenAddress;
  readonly stats?: ListenAddress;
  readonly readiness?: ListenAddress;
  readonly sessionKey?: string;
  readonly workers?: number | 'auto';
  /** The zone in which the gateway runs. */
  readonly zone?: string;
  readonly terminationDeadlineMs?: number;
  readonly minTerminationDeadlineMs?: number;
  /** From the time that the platform gives a process to stop; only where nothing else sets the deadline. */
  readonly deadlineOfPlatformMs?: number;
}

interface Row {
  /** Absent where the program has read the variable before the file. */
  readonly setting?: keyof Overrides;
  readonly read: (text: string) => unknown;
  readonly expected: string;
  /** The field of the file that it overrides; absent where the file has none. */
  readonly path?: readonly string[];
  readonly isSecret?: true;
}

const address = 'off, ip:port, localhost:port, [::]:port or unix:/path';
const duration = 'a duration such as 10s or 1m30s';

/** Kubernetes kills the process at the end of its grace period; what is still open must have ended before. */
const marginMs = 5_000;

function graceDeadline(text: string): number | undefined {
  if (!/^\d{1,6}$/.test(text)) return undefined;
  return Math.max(1_000, Number(text) * 1_000 - marginMs);
}

/** `region/zone/subzone`, as service meshes write it. */
const zone = (text: string): string | undefined => text.split('/')[1];

/** Environment variable → setting. */
const rows: Readonly<Record<string, Row>> = {
  ADMIN_ADDR: {
    setting: 'admin',
    read: parseListenAddress,
    expected: address,
    path: ['config', 'adminAddr'],
  },
  STATS_ADDR: {
    setting: 'stats',
    read: parseListenAddress,
    expected: address,
    path: ['config', 'statsAddr'],
  },
  READINESS_ADDR: {
    setting: 'readiness',
    read: parseListenAddress,
    expected: address,
    path: ['config', 'readinessAddr'],
  },
  LOCALITY: { setting: 'zone', read: zone, expected: 'region/zone or region/zone/subzone' },
  SESSION_KEY: {
    setting: 'sessionKey',
    read: parseSessionKey,
    expected: '64 hexadecimal digits',
    path: ['config', 'session', 'key'],
    isSecret: true,
  },
  WORKER_THREADS: {
    setting: 'workers',
    read: parseWorkers,
    expected: expectedWorkers,
    path: ['config', 'workers'],
  },
  [maxFileBytesVariable]: { read: parseFileLimit, expected: 'a number of bytes above zero' },
  CONNECTION_TERMINATION_DEADLINE: {
    setting: 'terminationDeadlineMs',
    read: parseDuration,
    expected: duration,
    path: ['config', 'connectionTerminationDeadline'],
  },
  CONNECTION_MIN_TERMINATION_DEADLINE: {
    setting: 'minTerminationDeadlineMs',
    read: parseDuration,
    expected: duration,
    path: ['config', 'connectionMinTerminationDeadline'],
  },
  TERMINATION_GRACE_PERIOD_SECONDS: {
    setting: 'deadlineOfPlatformMs',
    read: graceDeadline,
    expected: 'a whole number of seconds',
  },
};

/** Reads the variables that override `config`; an empty one counts as not set. */
export function readOverrides(env: Environment): { overrides: Overrides; problems: readonly Problem[] } {
  const overrides: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const [variable, { setting, read, expected }] of Object.entries(rows)) {
    const text = env[variable];
    if (text === undefined || text === '') continue;
    const value = read(text);
    if (value === undefined)
      problems.push({ file: 'environment', path: variable, message: `expected ${expected}` });
    else if (setting !== undefined) overrides[setting] = value;
  }
  return { overrides: overrides as Overrides, problems };
}

/** A variable that wins over a field of the file. */
interface Overriding {
  readonly variable: string;
  readonly text: string;
  readonly path: readonly string[];
  readonly isSecret: boolean;
}

/** The variables that win over fields of the file. */
export const overridingVariables = (env: Environment): readonly Overriding[] =>
  Object.entries(rows).flatMap(([variable, { path, isSecret = false }]) => {
    const text = env[variable];
    return path === undefined || text === undefined || text === ''
      ? []
      : [{ variable, text, path, isSecret }];
  });
