import type { PolicyTools } from './policy.ts';

/** Every request can bring the same news: the log has one line of an event in so many milliseconds. */
const everyMs = 10_000;

/** Makes what logs events of a server that a policy asks. @param service its address */
export function serverReports(
  service: string,
  { log, now }: Pick<PolicyTools, 'log' | 'now'>,
): (event: string, fields: object) => void {
  const told = new Map<string, { at: number; untold: number }>();
  return (event, fields) => {
    const last = told.get(event);
    if (last !== undefined && now() - last.at < everyMs) {
      last.untold++;
      return;
    }
    const more = last === undefined || last.untold === 0 ? {} : { omitted: last.untold };
    told.set(event, { at: now(), untold: 0 });
    log.warn(event, { service, ...fields, ...more });
  };
}
