import { parentPort, workerData } from 'node:worker_threads';
import type { OperationChoice } from '../../../model/index.ts';
import { describeApi, type Description } from './describe.ts';
import { DescriptionError } from './descriptionText.ts';

export interface DescribeOrder {
  readonly text: string;
  readonly choice: OperationChoice;
}

export type Described = Description | { readonly problem: string };

const { text, choice } = workerData as DescribeOrder;

function described(): Described {
  try {
    return describeApi(text, choice);
  } catch (error) {
    if (error instanceof DescriptionError) return { problem: error.message };
    throw error;
  }
}

parentPort?.postMessage(described());
