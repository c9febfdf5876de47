import type { ObjectMeta } from '../api/object.ts';

/** The fields of every object, whatever its kind. */
export interface Named {
  readonly metadata: ObjectMeta;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  /** RFC 3339, in seconds. */
  readonly lastTransitionTime: string;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        /** `In`, `NotIn`, `Exists`, `DoesNotExist`. */
        readonly operator: string;
        readonly values?: readonly string[] | undefined;
      }[]
    | undefined;
}

/** Names another object; what is left out depends on where it stands. */
export interface Reference {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}
