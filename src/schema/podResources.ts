import { z } from 'zod';

/** `500m`, `1.5`, `128Mi`, `2`. */
const quantity = z
  .union([z.int().min(0), z.string().regex(/^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/)])
  .describe('A quantity of Kubernetes.');

const quantities = z.record(z.string(), quantity);

/** The resources that a container requests, and its limits. */
export const podResources = z.strictObject({
  requests: quantities.optional(),
  limits: quantities.optional(),
});
