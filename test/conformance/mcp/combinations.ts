import type { Eras } from './fixture/eras.ts';

/** The revisions of the suite, which is the client. */
export const revisions = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof revisions)[number];

/** The ways in which the gateway reaches the fixture. */
const transports = ['stdio', 'Streamable HTTP'] as const;

/** A way to put the gateway between the suite and the fixture. */
export interface Combination {
  readonly revision: Revision;
  /** The fixture serves all revisions, or only those of the other era. Then the gateway bridges. */
  readonly eras: Eras;
  readonly over: (typeof transports)[number];
  /** The gateway demands a token with a group. */
  readonly token: boolean;
}

const otherEra: Readonly<Record<Revision, Eras>> = { '2025-11-25': 'modern', '2026-07-28': 'legacy' };

/** Every combination that the gateway is for. */
export const combinations: readonly Combination[] = revisions.flatMap((revision) =>
  (['both', otherEra[revision]] as const).flatMap((eras) =>
    transports.flatMap((over) => [true, false].map((token) => ({ revision, eras, over, token }))),
  ),
);

export const isBridged = ({ eras }: Combination): boolean => eras !== 'both';

/**
 * The combinations that `npm test` compares: those with a token. A client of 2026-07-28 in front of a legacy server takes
 * a minute for each, because the suite waits for tasks that never come; `npm run conformance:mcp` has them.
 */
export const tested = combinations.filter(
  ({ revision, eras, token }) => token && !(revision === '2026-07-28' && eras === 'legacy'),
);

/** For example `2026-07-28 over stdio, with a token, to a legacy server`. */
export const titleOf = ({ revision, eras, over, token }: Combination): string =>
  `${revision} over ${over}, ${token ? 'with' : 'without'} a token${eras === 'both' ? '' : `, to a ${eras} server`}`;
