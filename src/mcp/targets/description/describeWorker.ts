import { parentPort, workerData } from 'node:worker_threads';
import type { OperationChoice } from '../../../model/index.ts';
import { describeApi, describeLinked, type Description } from './describe.ts';
import { DescriptionError } from './descriptionText.ts';
import type { LinkedDocuments, MissingDocuments } from './linkedDocuments.ts';

export interface DescribeOrder {
  readonly text: string;
  readonly choice: OperationChoice;
  /** Present where the references of the description may lead to other documents. */
  readonly documents?: LinkedDocuments;
}

export type Described = Description | MissingDocuments | { readonly problem: string };

const { text, choice, documents } = workerData as DescribeOrder;

function described(): Described {
  try {
    return documents === undefined ? describeApi(text, choice) : describeLinked(text, choice, documents);
  } catch (error) {
    if (error instanceof DescriptionError) return { problem: error.message };
    throw error;
  }
}

parentPort?.postMessage(described());
