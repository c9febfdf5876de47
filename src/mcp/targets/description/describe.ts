import type { DescribedApi, OperationChoice } from '../../../model/index.ts';
import { DescriptionError, isObject, readDocument, ValueBudget, type JsonObject } from './descriptionText.ts';
import { joinDocuments, type LinkedDocuments, type MissingDocuments } from './linkedDocuments.ts';
import { readOperations } from './operations.ts';
import { References } from './references.ts';

export interface Description {
  readonly api: DescribedApi;
  /** Parts of the description that are left out, for the operator. */
  readonly warnings: readonly string[];
}

/** Warnings beyond this many tell nothing new. */
const maxWarnings = 20;

/**
 * Makes tools out of the text of an OpenAPI description, 3.0 or 3.1.
 * @throws DescriptionError
 */
export const describeApi = (text: string, choice: OperationChoice): Description =>
  describeDocument(readDocument(text, new ValueBudget()), choice);

/**
 * The same for a description in several documents.
 * @returns the documents that have to be read first, where some are missing
 * @throws DescriptionError
 */
export function describeLinked(
  text: string,
  choice: OperationChoice,
  documents: LinkedDocuments,
): Description | MissingDocuments {
  const joined = joinDocuments(text, documents, new ValueBudget());
  return 'missing' in joined ? joined : describeDocument(joined.document, choice);
}

function describeDocument(document: JsonObject, choice: OperationChoice): Description {
  const dialect = dialectOf(document);
  const warnings: string[] = [];
  let more = 0;
  const warn = (message: string): void => {
    if (warnings.includes(message)) return;
    if (warnings.length < maxWarnings) warnings.push(message);
    else more++;
  };
  const references = new References(document);
  const operations = readOperations(choice, { document, references, dialect, warn });
  if (operations.length === 0) throw new DescriptionError('has no operation that is chosen');
  if (more > 0) warnings.push(`${more} further warnings`);
  return { api: { ...infoOf(document), operations }, warnings };
}

function dialectOf({ openapi, swagger }: JsonObject): '3.0' | '3.1' {
  if (typeof openapi === 'string' && /^3\.0\.\d/.test(openapi)) return '3.0';
  if (typeof openapi === 'string' && /^3\.1\.\d/.test(openapi)) return '3.1';
  const version = openapi ?? swagger;
  throw new DescriptionError(
    version === undefined
      ? 'is no OpenAPI description: it has no `openapi`'
      : `is of version ${JSON.stringify(version).slice(0, 32)}: expected OpenAPI 3.0 or 3.1`,
  );
}

function infoOf({ info }: JsonObject): Pick<DescribedApi, 'title' | 'version' | 'instructions'> {
  const given = isObject(info) ? info : {};
  const text = (name: string): string | undefined => {
    const value = given[name];
    return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
  };
  const instructions = text('description') ?? text('summary');
  return {
    title: text('title') ?? 'API',
    version: text('version') ?? '0',
    ...(instructions === undefined ? {} : { instructions }),
  };
}
