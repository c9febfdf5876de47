import type { ApiOperation, DescribedApi } from '../../../model/index.ts';

/** The tools of an API, ready to be listed and called. */
export interface ApiTools {
  readonly api: DescribedApi;
  readonly operations: ReadonlyMap<string, ApiOperation>;
  /** The result of `tools/list`, as JSON text. */
  readonly list: string;
}

const known = new WeakMap<DescribedApi, ApiTools>();

/** All sessions share the tools of an API. */
export function toolsOf(api: DescribedApi): ApiTools {
  let tools = known.get(api);
  if (tools === undefined) {
    tools = {
      api,
      operations: new Map(api.operations.map((operation) => [operation.tool.name, operation])),
      list: JSON.stringify({ tools: api.operations.map(({ tool }) => tool) }),
    };
    known.set(api, tools);
  }
  return tools;
}
