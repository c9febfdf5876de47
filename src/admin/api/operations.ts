import { z } from 'zod';
import type { AdminAccess } from '../access/adminAccess.ts';
import type { AdminViews } from '../contract.ts';
import type { EventStreams } from '../eventStream.ts';
import { configOperations } from './configOperations.ts';
import { loginOperations } from './loginOperations.ts';
import { openApi } from './openApi.ts';
import { operation, type ApiOperation } from './operation.ts';
import { playgroundOperations } from './playgroundOperations.ts';
import { requestOperations } from './requestOperations.ts';
import { sessionOperations, type OwnAddress } from './sessionOperations.ts';
import { stateOperations } from './stateOperations.ts';

/** The parts of the port that operations use. */
export interface ApiTools {
  readonly views: AdminViews;
  readonly streams: EventStreams;
  readonly access: AdminAccess;
  readonly address: () => OwnAddress;
}

/** The table of the API. A process without these views has no API. */
export function apiOperations({ views, streams, access, address }: ApiTools): readonly ApiOperation[] {
  const { gateway, requests, version } = views;
  if (gateway === undefined || requests === undefined) return [];
  const operations: readonly ApiOperation[] = [
    ...sessionOperations(access, streams, gateway, address),
    ...stateOperations(views, gateway),
    ...configOperations(views, gateway),
    ...requestOperations(requests, streams, access),
    ...playgroundOperations(gateway),
    ...loginOperations(gateway.logins),
    operation({
      method: 'GET',
      path: '/api/v1/openapi.json',
      about: 'this API in the form of OpenAPI 3.1',
      access: 'viewer',
      result: z.looseObject({}),
      run: () => openApi(version, operations),
    }),
  ];
  return operations;
}
