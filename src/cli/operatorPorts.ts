import { defaults, type ListenAddress } from '../model/index.ts';
import { UsageError, type Flag, type Flags } from './command.ts';

/** The operator's ports, by the variable that overrides their address in the configuration. */
const addresses = {
  ADMIN_ADDR: defaults.fixed.admin,
  STATS_ADDR: defaults.fixed.stats,
  READINESS_ADDR: defaults.fixed.readiness,
} as const;

export const operatorPortFlags: Readonly<Record<string, Flag>> = {
  'admin-port': {
    type: 'string',
    value: 'N',
    help: 'move the ports for admin, metrics and readiness to N, N+20 and N+21; 0: to free ports',
    once: true,
  },
  'no-admin': { type: 'boolean', help: 'open no ports for admin, metrics and readiness' },
};

/**
 * The variables that move or switch off the operator's ports, as the flags say. They win over the configuration.
 * @throws UsageError for a port that is none
 */
export function operatorPorts(flags: Flags): Readonly<Record<string, string>> {
  const { 'admin-port': given, 'no-admin': off } = flags;
  if (typeof given !== 'string') return off === true ? each(() => 'off') : {};
  if (off === true) throw new UsageError('--admin-port and --no-admin exclude each other');
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  const first = portOf(defaults.fixed.admin);
  const highest = 65_535 - Math.max(...Object.values(addresses).map((address) => portOf(address) - first));
  if (!(port <= highest)) throw new UsageError(`--admin-port: expected a port from 0 to ${String(highest)}`);
  return each((address) => {
    const { host } = tcp(address);
    const name = host.includes(':') ? `[${host}]` : host;
    return `${name}:${String(port === 0 ? 0 : port + portOf(address) - first)}`;
  });
}

const each = (value: (address: ListenAddress) => string): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(addresses).map(([variable, address]) => [variable, value(address)]));

/** The default addresses are TCP addresses. */
function tcp(address: ListenAddress): Extract<ListenAddress, { kind: 'tcp' }> {
  if (address.kind !== 'tcp') throw new Error('an operator port has no TCP address by default');
  return address;
}

const portOf = (address: ListenAddress): number => tcp(address).port;
