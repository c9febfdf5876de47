/** Rates a second, from totals that the gateway counts since its start. */

import { useEffect, useState } from 'react';
import type { Status } from '../api/types.ts';

/** The state of the counters at a moment. */
export interface Reading {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly requests: number;
  readonly refusals: number;
  readonly errors: number;
}

/** Rates a second, for a chart: a list for each series, the times first. */
export interface Rates {
  readonly at: readonly number[];
  readonly requests: readonly number[];
  readonly refusals: readonly number[];
  readonly errors: readonly number[];
}

/** Readings that a page keeps: ten minutes at one in two seconds. */
const mostReadings = 300;

/** The rates between neighbouring readings; a restart of the gateway, which sets its counters back, gives 0. */
export function ratesOf(readings: readonly Reading[]): Rates {
  const rate = (name: 'requests' | 'refusals' | 'errors'): number[] =>
    readings.slice(1).map((reading, before) => {
      const last = readings[before] ?? reading;
      const seconds = Math.max(0.001, reading.at - last.at);
      return Math.max(0, reading[name] - last[name]) / seconds;
    });
  return {
    at: readings.slice(1).map(({ at }) => at),
    requests: rate('requests'),
    refusals: rate('refusals'),
    errors: rate('errors'),
  };
}

/** Collects the rates while the page is open. @param updatedAt the moment of the status, in milliseconds */
export function useRates(status: Status | undefined, updatedAt: number): Rates {
  const [readings, setReadings] = useState<readonly Reading[]>([]);
  useEffect(() => {
    if (status === undefined) return;
    const { requests, refusals, errors } = status.rates;
    const reading = { at: updatedAt / 1_000, requests, refusals, errors };
    setReadings((held) => [...held.slice(1 - mostReadings), reading]);
  }, [status, updatedAt]);
  return ratesOf(readings);
}
