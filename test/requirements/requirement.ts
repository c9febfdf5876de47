/** A behaviour that a standard or a decision demands, and the tests that prove it. */
export interface Requirement {
  /** Stable, unique: `area.subject.detail`. */
  readonly id: string;
  readonly what: string;
  /** Link to the section that demands it. */
  readonly source: string;
  /** Never empty. */
  readonly proofs: readonly Proof[];
}

/**
 * A test file, relative to the root, and the name of a test in it, as it is written there. Where one test goes over
 * a table, `row` is a text of the row in question, in the test or in the aid of its name, or the file of its case beside
 * the test.
 */
export type Proof = readonly [file: string, testName: string, row?: string];

type Row = readonly [id: string, what: string, source: string, ...proofs: Proof[]];

/** Rows of one area written as a table: the area, then per row the rest of the id, what, source and proofs. */
export const area = (name: string, rows: readonly Row[]): readonly Requirement[] =>
  rows.map(([id, what, source, ...proofs]) => ({ id: `${name}.${id}`, what, source, proofs }));

export const rfc = (number: number, section: string): string =>
  `https://www.rfc-editor.org/rfc/rfc${String(number)}#section-${section}`;

/** A page of the Model Context Protocol's specification. */
export const mcp = (revision: string, page: string): string =>
  `https://modelcontextprotocol.io/specification/${revision}/${page}`;

export const traceContext = (section: string): string => `https://www.w3.org/TR/trace-context-1/#${section}`;

export const gatewayApi = (page: string): string => `https://gateway-api.sigs.k8s.io/${page}`;

/** Our own decisions, written down in the documents. */
export const ours = (document: string): string => document;
