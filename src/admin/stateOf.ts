import type { AdminViews } from './contract.ts';

const isoTime = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();

/** The state of the configuration, with its times as text. */
export const configOf = (views: AdminViews) => {
  const { loadedAt, triedAt, problems, warnings, ...rest } = views.configState();
  return {
    ...rest,
    problems: [...problems],
    warnings: [...warnings],
    loadedAt: isoTime(loadedAt),
    triedAt: isoTime(triedAt),
  };
};

/** The state of the serving part, with its times as text. */
export const servingOf = async (views: AdminViews) => {
  const { certificates, workers, binds, closedPorts, brokenRoutes, keySets, mcp } = await views.serving();
  return {
    workers: [...workers],
    binds: [...binds],
    closedPorts: [...closedPorts],
    brokenRoutes: [...brokenRoutes],
    certificates: certificates.map(({ expiresAt, ...each }) => ({ ...each, expiresAt: isoTime(expiresAt) })),
    keySets: keySets.map(({ loadedAt, ...each }) => ({
      ...each,
      ...(loadedAt !== undefined && { loadedAt: new Date(loadedAt).toISOString() }),
    })),
    mcp,
  };
};
