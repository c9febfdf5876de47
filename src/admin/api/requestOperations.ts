import { messageOf } from '../../errorText.ts';
import { hideInData } from '../../telemetry/index.ts';
import type { AdminAccess } from '../access/adminAccess.ts';
import type { RequestViews } from '../contract.ts';
import type { EventStreams } from '../eventStream.ts';
import { operation, streamOperation, type ApiOperation } from './operation.ts';
import { ApiProblem } from './problem.ts';
import * as shapes from './shapes.ts';

/** The operations about requests of clients. */
export const requestOperations = (
  views: RequestViews,
  streams: EventStreams,
  access: AdminAccess,
): readonly ApiOperation[] => [
  streamOperation({
    method: 'GET',
    path: '/api/v1/requests',
    about:
      'refusals and errors, and all requests while this page is open, as server-sent events; ?filter=CEL',
    access: 'viewer',
    parameters: { filter: 'CEL expression about a record, such as `response.code == 403`.' },
    refusals: { 503: 'too many event streams are open' },
    run: ({ query, caller: { by, session, until } }) => {
      const filter = query.get('filter') ?? undefined;
      if (streams.isFull) throw new ApiProblem(503, 'too many event streams are open');
      try {
        // The filter is checked before the answer begins.
        views.follow(() => undefined, filter)();
      } catch (error) {
        throw new ApiProblem(400, `filter: ${messageOf(error)}`);
      }
      const isAllowed = () =>
        by === 'gateway'
          ? until === undefined || Date.now() < until
          : session === undefined || access.sessions.isOpen(session);
      return {
        status: 200,
        body: '',
        stream: (response) => streams.serve(response, (send) => views.follow(send, filter), isAllowed),
      };
    },
  }),
  operation({
    method: 'POST',
    path: '/api/v1/why',
    about:
      'explains the request in the body: {"request": "GET / HTTP/1.1\\nHost: …", "claims": …, "rule": …, "port": …, "client": …}',
    access: 'viewer',
    readsOnly: true,
    body: shapes.trial,
    result: shapes.decision,
    refusals: { 422: 'the request cannot be explained' },
    run: async ({ body: { request, claims, rule, port, client } }) => {
      try {
        const decision = await views.why({
          request,
          ...(claims !== undefined && { claims }),
          ...(rule !== undefined && { rule }),
          ...(port !== undefined && { port }),
          ...(client !== undefined && { client }),
        });
        return hideInData(decision);
      } catch (error) {
        throw new ApiProblem(422, messageOf(error));
      }
    },
  }),
  operation({
    method: 'POST',
    path: '/api/v1/cel',
    about: 'evaluates a CEL expression on a request, or on a record of one: {"expression": …, "request": …}',
    access: 'viewer',
    readsOnly: true,
    body: shapes.expressionTrial,
    result: shapes.expressionResult,
    refusals: { 422: 'the request cannot be read' },
    run: async ({ body: { expression, request, record, claims, port, client } }) => {
      try {
        return await views.evaluate({
          expression,
          ...(request !== undefined && { request }),
          ...(record !== undefined && { record }),
          ...(claims !== undefined && { claims }),
          ...(port !== undefined && { port }),
          ...(client !== undefined && { client }),
        });
      } catch (error) {
        throw new ApiProblem(422, messageOf(error));
      }
    },
  }),
];
