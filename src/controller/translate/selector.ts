import type { LabelSelector } from '../types/index.ts';

type Labels = Readonly<Record<string, string>>;

const operators: Readonly<Record<string, (value: string | undefined, values: readonly string[]) => boolean>> =
  {
    In: (value, values) => value !== undefined && values.includes(value),
    NotIn: (value, values) => value === undefined || !values.includes(value),
    Exists: (value) => value !== undefined,
    DoesNotExist: (value) => value === undefined,
  };

/** Does the selector of the Kubernetes API choose what has these labels? An empty one chooses everything. */
export function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): boolean {
  const own = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.entries(matchLabels).every(([key, value]) => own(key) === value) &&
    matchExpressions.every(
      ({ key, operator, values = [] }) => operators[operator]?.(own(key), values) === true,
    )
  );
}
