import { Stack } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { ApiError } from '../api/client.ts';
import { useStatus } from '../api/queries.ts';
import type { Status } from '../api/types.ts';
import { Loaded } from '../parts/Loaded.tsx';
import { Note } from '../parts/Note.tsx';
import { Tag } from '../parts/Tag.tsx';
import { ago, shortMs } from '../parts/time.ts';
import { Certificates, KeySets } from './KeyMaterial.tsx';
import { troublesOf, type Trouble } from './problems.ts';

const TimeChart = lazy(() => import('./TimeChart.tsx'));

/** The health of the gateway: problems, rates, latencies, certificates and key sets. */
export function HealthPanel() {
  const status = useStatus();
  return (
    <Loaded query={status} doing="Reading the status">
      {(data) => (
        <Stack gap="sm">
          <Troubles status={data} />
          <Figures status={data} isReachable={status.error === null || status.error instanceof ApiError} />
          <Charts history={data.history} />
          <Certificates list={data.certificates} />
          <KeySets list={data.keySets} />
        </Stack>
      )}
    </Loaded>
  );
}

function Charts({ history }: Pick<Status, 'history'>) {
  const at = history.map((sample) => sample.at / 1_000);
  return (
    <div className="charts">
      <Suspense fallback={<div className="chart" />}>
        <TimeChart
          title="Requests"
          unit="per second"
          at={at}
          series={[
            { name: 'all', tone: 'info', values: history.map(({ requests }) => requests) },
            { name: 'refused', tone: 'bad', values: history.map(({ refusals }) => refusals) },
            { name: 'errors', tone: 'warn', values: history.map(({ errors }) => errors) },
          ]}
        />
        <TimeChart
          title="Latency"
          unit="milliseconds"
          at={at}
          series={[
            { name: 'median', tone: 'info', values: history.map(({ p50Ms }) => p50Ms) },
            { name: '99th percentile', tone: 'warn', values: history.map(({ p99Ms }) => p99Ms) },
          ]}
        />
      </Suspense>
    </div>
  );
}

/** Errors stand out; warnings are folded, because they may stay for long. */
function Troubles({ status }: { status: Status }) {
  const troubles = troublesOf(status);
  const errors = troubles.filter(({ tone }) => tone === 'bad');
  const warnings = troubles.filter(({ tone }) => tone !== 'bad');
  return (
    <>
      {errors.length > 0 && (
        <Note tone="bad">
          <TroubleList list={errors} />
        </Note>
      )}
      {warnings.length > 0 && (
        <Note tone="warn">
          <details>
            <summary>
              {warnings.length} {warnings.length === 1 ? 'warning' : 'warnings'}
            </summary>
            <TroubleList list={warnings} />
          </details>
        </Note>
      )}
    </>
  );
}

const TroubleList = ({ list }: { list: readonly Trouble[] }) => (
  <ul>
    {list.map(({ text }) => (
      <li key={text}>{text}</li>
    ))}
  </ul>
);

function Figures({ status, isReachable }: { status: Status; isReachable: boolean }) {
  const { config, history } = status;
  const last = history.at(-1);
  const rate = (value: number | undefined): string => `${(value ?? 0).toFixed(1)}/s`;
  const figures: readonly (readonly [string, React.ReactNode])[] = [
    [
      'State',
      <Tag key="state" tone={!isReachable ? 'bad' : status.readiness === 'ready' ? 'good' : 'warn'}>
        {isReachable ? status.readiness : 'not reachable'}
      </Tag>,
    ],
    ['Requests', rate(last?.requests)],
    ['Refusals', rate(last?.refusals)],
    ['Errors', rate(last?.errors)],
    ['Median', status.rates.p50Ms === null ? '–' : shortMs(status.rates.p50Ms)],
    ['99th percentile', status.rates.p99Ms === null ? '–' : shortMs(status.rates.p99Ms)],
    ['Connections', status.binds.reduce((sum, { connections }) => sum + connections, 0)],
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
