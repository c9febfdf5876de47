import { isIP } from 'node:net';
import type { Bind, FixedSettings, ListenAddress, Model } from '../model/index.ts';
import { formatPath } from './path.ts';
import type { Report } from './report.ts';

/** The settings of the process that are addresses. */
type OperatorAddress = {
  [Name in keyof FixedSettings]-?: ListenAddress extends FixedSettings[Name] ? Name : never;
}[keyof FixedSettings];

/** The ports of the operator, and their fields in the file. The type notices an address that is missing here. */
const fields: Readonly<Record<OperatorAddress, string>> = {
  admin: 'adminAddr',
  stats: 'statsAddr',
  readiness: 'readinessAddr',
};

/** An address that a gateway listens on for connections. */
interface Claimed {
  readonly port: number;
  /** `::` for every address of the machine. */
  readonly host: string;
  readonly by: string;
}

/** Reports operator addresses that the gateway could not open, because it listens there for something else. */
export function checkOperatorAddresses({ process, binds }: Model, report: Report): void {
  const claimed = binds.flatMap(claimedBy);
  for (const [name, field] of Object.entries(fields) as [OperatorAddress, string][]) {
    const path = ['config', field];
    const wished = addressOf(process.fixed[name], formatPath(path));
    if (wished === undefined) continue;
    const other = claimed.find((one) => collide(one, wished));
    if (other !== undefined)
      report(
        path,
        'value',
        `port ${String(wished.port)} is used by ${other.by} already`,
        'choose another port, or off',
      );
    claimed.push(wished);
  }
}

/** Datagrams have ports of their own. Port 0 is another port every time. */
const claimedBy = ({ port, address = '::', listeners }: Bind): readonly Claimed[] =>
  port === 0 || listeners.every(({ protocol }) => protocol === 'UDP')
    ? []
    : [{ port, host: address, by: 'a listener' }];

const addressOf = (address: ListenAddress, by: string): Claimed | undefined =>
  address.kind === 'tcp' && address.port !== 0 ? { port: address.port, host: address.host, by } : undefined;

const collide = (a: Claimed, b: Claimed): boolean =>
  a.port === b.port &&
  hostsOf(a).some((one) => hostsOf(b).some((other) => covers(one, other) || covers(other, one)));

const hostsOf = ({ host }: Claimed): readonly string[] =>
  host === 'localhost' ? ['127.0.0.1', '::1'] : [host];

const covers = (host: string, other: string): boolean =>
  host === other || host === '::' || (host === '0.0.0.0' && isIP(other) === 4);
