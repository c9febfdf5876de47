import 'uplot/dist/uPlot.min.css';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import type { Tone } from '../parts/Tag.tsx';
import { clock } from '../parts/time.ts';

const height = 120;
/** Seconds that the chart shows at least. */
const shortest = 120;

/** A line of a chart. */
export interface Series {
  readonly name: string;
  readonly tone: Tone;
  /** Null where there is no value. */
  readonly values: readonly (number | null)[];
}

/** Values over the last minutes, with a legend that names their colours. @param at seconds since the epoch */
export default function TimeChart(props: {
  title: string;
  unit: string;
  at: readonly number[];
  series: readonly Series[];
}) {
  const { title, unit, at, series } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const scheme = useComputedColorScheme('light');
  const data: uPlot.AlignedData = [[...at], ...series.map(({ values }) => [...values])];
  const latest = useRef({ data, series });
  latest.current = { data, series };
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsOf(element, latest.current.series), latest.current.data, element);
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
  const spoken = series.map(({ name, values }) => `${name} ${lastOf(values)}`).join(', ');
  return (
    <figure className="chart">
      <figcaption>
        {title} <span className="quiet">({unit})</span>
        <ul className="legend">
          {series.map(({ name, tone, values }) => (
            <li key={name} data-tone={tone}>
              {name} <b>{lastOf(values)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title} (${unit}): ${spoken}`} />
    </figure>
  );
}

function lastOf(values: readonly (number | null)[]): string {
  const last = values.at(-1) ?? null;
  return last === null ? '–' : last.toFixed(last < 100 ? 1 : 0);
}

/** The times that the chart shows, also while there are too few of them. */
const windowOf = (times: ArrayLike<number>): [number, number] => {
  const last = times[times.length - 1] ?? Date.now() / 1_000;
  return [Math.min(times[0] ?? last, last - shortest), last];
};

const timeOf = (seconds: number): string => clock(seconds * 1_000).slice(0, 8);

function optionsOf(element: HTMLElement, series: readonly Series[]): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: colour('--mantine-color-dimmed'), grid: { stroke: colour('--line'), width: 1 } };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    axes: [
      { ...axis, values: (_plot, times) => times.map(timeOf), space: 80, size: 30 },
      { ...axis, size: 56 },
    ],
    scales: {
      x: { range: ({ data: [times] }) => windowOf(times) },
      y: { range: (_plot, _min, max) => [0, Math.max(1, (max ?? 0) * 1.1)] },
    },
    series: [
      {},
      ...series.map(({ name, tone }) => ({
        label: name,
        stroke: colour(`--tone-${tone}`),
        width: 1.5,
        points: { show: false },
      })),
    ],
  };
}
