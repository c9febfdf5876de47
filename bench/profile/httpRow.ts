import { measure } from '../http/measure.ts';
import { startPortcullis, type Running } from '../http/proxies.ts';
import { tables, type Row, type Table } from '../http/sections.ts';
import { openSetting } from '../http/setting.ts';
import type { StartRow } from './loadedRow.ts';

/** `get`, or `routes/portcullis-10000` where a table has several rows of ours. */
const nameOf = (table: Table, row: Row) =>
  row.name === 'portcullis' ? table.name : `${table.name}/${row.name}`;

const known = new Map(
  tables.flatMap((table) =>
    table.rows
      .filter(({ proxy }) => proxy === 'portcullis')
      .map((row) => [nameOf(table, row), { table, row }] as const),
  ),
);

export const httpRows: readonly string[] = [...known.keys()];

export const startHttpRow: StartRow = async (name, directory, cores, nodeOptions) => {
  const { table, row } = known.get(name)!;
  const setting = await openSetting(directory, cores);
  const running: Running & { program: NonNullable<Running['program']> } = await startPortcullis(setting, {
    ...row.options,
    nodeOptions,
  });
  return {
    title: `${table.title}, each ${table.unit}`,
    pid: running.program.pid,
    load: async (seconds, onLoad) => {
      onLoad?.();
      return (await measure(setting, running, table, row, seconds)).cpuPerRequest;
    },
    stop: () => running.program.stop(),
    close: () => setting.close(),
  };
};
