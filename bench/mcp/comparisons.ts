import { few, many } from './candidates.ts';

/** A figure that two rows give together, round by round. */
export interface Comparison {
  readonly name: string;
  readonly limit: number;
  readonly row: string;
  readonly base: string;
  /** `share`: the row divided by its base; `more`: what it takes beyond that, in microseconds. */
  readonly as: 'share' | 'more';
}

const share = (name: string, limit: number, row: string, base: string): Comparison => ({
  name,
  limit,
  row,
  base,
  as: 'share',
});

export const peerComparisons: readonly Comparison[] = [
  share('stdio: CPU of a call / supergateway as it comes', 0.15, 'portcullis', 'supergateway'),
  share('stdio: CPU of a call / mcp-proxy, which has one server for all', 0.2, 'portcullis', 'mcp-proxy'),
  share(
    'stdio: CPU of a call / mcp-proxy, one server for all in both',
    0.2,
    'portcullis-shared',
    'mcp-proxy',
  ),
];

export const ownComparisons: readonly Comparison[] = [
  {
    name: 'HTTP: CPU of a call with an audit stream with a chain, beyond one without',
    limit: 10,
    row: 'portcullis-http-audited',
    base: 'portcullis-http',
    as: 'more',
  },
  share(
    `CPU of a call to one of ten targets / to the only one, ${few} sessions`,
    1.15,
    'portcullis-federation',
    'portcullis-http',
  ),
  share(
    `CPU of a call to one of ten targets / to the only one, ${many} sessions`,
    1.15,
    'portcullis-federation-many',
    'portcullis-http-many',
  ),
  share(
    'CPU of a call to one of ten targets / to the only one, modern era',
    1.15,
    'portcullis-federation-modern',
    'portcullis-http-modern',
  ),
];
