import { Stack } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { useStatus } from '../api/queries.ts';
import type { Status } from '../api/types.ts';
import { Loaded } from '../parts/Loaded.tsx';
import { Note } from '../parts/Note.tsx';
import { Tag } from '../parts/Tag.tsx';
import { ago, shortMs } from '../parts/time.ts';
import { troublesOf } from './problems.ts';
import { useRates, type Rates } from './rates.ts';

const RateChart = lazy(() => import('./RateChart.tsx'));

/** The health of the gateway: problems, rates, latencies. */
export function HealthPanel() {
  const status = useStatus();
  const rates = useRates(status.data, status.dataUpdatedAt);
  return (
    <Loaded query={status} doing="Reading the status">
      {(data) => (
        <Stack gap="sm">
          <Troubles status={data} />
          <Figures status={data} rates={rates} />
          <Suspense fallback={<div className="chart" />}>
            <RateChart rates={rates} />
          </Suspense>
        </Stack>
      )}
    </Loaded>
  );
}

function Troubles({ status }: { status: Status }) {
  const troubles = troublesOf(status);
  const [worst] = troubles;
  if (worst === undefined) return null;
  return (
    <Note tone={worst.tone}>
      <ul>
        {troubles.map(({ text }) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Note>
  );
}

function Figures({ status, rates }: { status: Status; rates: Rates }) {
  const { config, certificates, keySets } = status;
  const rate = (values: readonly number[]): string => `${(values.at(-1) ?? 0).toFixed(1)}/s`;
  const ready = (list: readonly { readonly state: string }[]): string =>
    `${list.filter(({ state }) => state === 'ready').length} of ${list.length}`;
  const figures: readonly (readonly [string, React.ReactNode])[] = [
    [
      'State',
      <Tag key="state" tone={status.readiness === 'ready' ? 'good' : 'warn'}>
        {status.readiness}
      </Tag>,
    ],
    ['Requests', rate(rates.requests)],
    ['Refusals', rate(rates.refusals)],
    ['Errors', rate(rates.errors)],
    ['Median', status.rates.p50Ms === null ? '–' : shortMs(status.rates.p50Ms)],
    ['99th percentile', status.rates.p99Ms === null ? '–' : shortMs(status.rates.p99Ms)],
    ['Connections', status.binds.reduce((sum, { connections }) => sum + connections, 0)],
    ['Certificates ready', certificates.length === 0 ? 'none' : ready(certificates)],
    ['Key sets ready', keySets.length === 0 ? 'none' : ready(keySets)],
    ['Configuration', config.loadedAt === null ? 'none' : ago(config.loadedAt)],
  ];
  return (
    <dl className="panel cards" style={{ margin: 0 }} aria-label="Health">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
