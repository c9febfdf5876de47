import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { clock } from '../parts/time.ts';
import type { Rates } from './rates.ts';

const height = 110;
/** Seconds that the chart shows at least. */
const shortest = 120;

/** Requests, refusals and errors a second over the last minutes. */
export default function RateChart({ rates }: { rates: Rates }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const scheme = useComputedColorScheme('light');
  const data = dataOf(rates);
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsOf(element), latest.current, element);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = undefined;
    };
    // The colours are read when the chart is made.
  }, [scheme]);
  useEffect(() => plot.current?.setData(data));
  return (
    <div
      ref={place}
      className="chart"
      role="img"
      aria-label={`Chart: ${lastOf(rates.requests)} requests, ${lastOf(rates.refusals)} refusals and ${lastOf(rates.errors)} errors a second`}
    />
  );
}

const lastOf = (values: readonly number[]): string => (values.at(-1) ?? 0).toFixed(1);

/** The times that the chart shows, also while there are too few of them. */
const windowOf = (times: ArrayLike<number>): [number, number] => {
  const last = times[times.length - 1] ?? Date.now() / 1_000;
  return [Math.min(times[0] ?? last, last - shortest), last];
};

const timeOf = (seconds: number): string => clock(seconds * 1_000).slice(0, 8);

const dataOf = ({ at, requests, refusals, errors }: Rates): uPlot.AlignedData => [
  [...at],
  [...requests],
  [...refusals],
  [...errors],
];

function optionsOf(element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: colour('--mantine-color-dimmed'), grid: { stroke: colour('--line'), width: 1 } };
  const series = (label: string, name: string): uPlot.Series => ({
    label,
    stroke: colour(name),
    width: 1.5,
    points: { show: false },
  });
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    axes: [
      { ...axis, values: (_plot, times) => times.map(timeOf) },
      { ...axis, size: 44 },
    ],
    scales: {
      x: { range: ({ data: [times] }) => windowOf(times) },
      y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] },
    },
    series: [
      {},
      series('requests', '--tone-info'),
      series('refusals', '--tone-bad'),
      series('errors', '--tone-warn'),
    ],
  };
}
