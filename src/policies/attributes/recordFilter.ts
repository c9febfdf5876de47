import {
  celLimits,
  compile,
  isProblem,
  toCel,
  type CelContext,
  type CelProblem,
  type Declared,
  type Members,
  type Program,
} from '../../cel/index.ts';

const text: Declared = { kind: 'value', type: 'string' };
const object = (members: Members): Declared => ({ kind: 'object', members });

/** The attributes of a record of a request. Texts that do not apply are empty. */
const recordAttributes: Members = {
  request: object({ method: text, host: text, path: text, id: text }),
  response: object({ code: { kind: 'value', type: 'int' } }),
  source: object({ address: text }),
  listener: text,
  route: text,
  backend: text,
  subject: text,
  error: text,
  reason: text,
  policy: text,
  rule: text,
  outcome: text,
};

/** A record as `/api/v1/requests` has it, as far as filters look at it. */
interface FilteredRecord {
  readonly [field: string]: unknown;
  readonly decidedBy?: { readonly policy?: string; readonly rule?: string };
  readonly decision?: { readonly outcome?: { readonly kind?: string } };
}

/**
 * Compiles a filter of records, such as `response.code == 403 && policy == "authorization"`.
 * @throws Error for an expression that does not compile
 */
export function recordFilter(source: string): (json: string) => boolean {
  const program = compileForRecords(source);
  if (isProblem(program)) throw new Error(program.message);
  return (json) => program.run(contextOfRecord(json), { workLeft: celLimits.work }) === true;
}

/** Compiles an expression about a record. */
export const compileForRecords = (source: string): Program | CelProblem => compile(source, recordAttributes);

/** The values of a record. @param json the record */
export function contextOfRecord(json: string): CelContext {
  const record = JSON.parse(json) as FilteredRecord;
  const of = (name: string): string => (typeof record[name] === 'string' ? record[name] : '');
  return {
    request: toCel({ method: of('method'), host: of('host'), path: of('path'), id: of('requestId') }),
    response: new Map([['code', BigInt(Math.trunc(Number(record['status'] ?? 0)) || 0)]]),
    source: toCel({ address: of('client') }),
    ...Object.fromEntries(
      ['listener', 'route', 'backend', 'subject', 'error', 'reason'].map((name) => [name, of(name)]),
    ),
    policy: record.decidedBy?.policy ?? '',
    rule: record.decidedBy?.rule ?? '',
    outcome: record.decision?.outcome?.kind ?? '',
  };
}
