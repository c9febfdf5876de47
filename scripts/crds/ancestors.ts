/** `metav1.Condition`, with the bounds that the API gives it. */
const condition = {
  type: 'object',
  required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
  properties: {
    type: { type: 'string', maxLength: 316 },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    reason: {
      type: 'string',
      minLength: 1,
      maxLength: 1_024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    },
    message: { type: 'string', maxLength: 32_768 },
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
    lastTransitionTime: { type: 'string', format: 'date-time' },
  },
} as const;

const text = (maxLength: number): object => ({ type: 'string', maxLength });

/**
 * The `status` of objects that serve several Gateways, which may be of several controllers: what became of them is said
 * for each (`PolicyStatus` of the Gateway API, GEP-713).
 */
export const ancestorsStatus = {
  type: 'object',
  properties: {
    ancestors: {
      type: 'array',
      maxItems: 16,
      items: {
        type: 'object',
        required: ['ancestorRef', 'controllerName'],
        properties: {
          ancestorRef: {
            type: 'object',
            required: ['name'],
            properties: {
              group: text(253),
              kind: text(63),
              namespace: text(63),
              name: text(253),
              sectionName: text(253),
              port: { type: 'integer', format: 'int32' },
            },
          },
          controllerName: { type: 'string', minLength: 1, maxLength: 253 },
          conditions: {
            type: 'array',
            maxItems: 8,
            items: condition,
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['type'],
          },
        },
      },
    },
  },
} as const;
