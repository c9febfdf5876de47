import { GatewayError } from '../../../errors.ts';
import type { ApiOperation } from '../../../model/index.ts';
import { cut, memberOf, type Envelope } from '../../json/envelope.ts';
import type { ApiTools } from './apiTools.ts';
import { initializeResult } from './initializeResult.ts';

/** A call of a tool, with the text of its arguments. */
export interface ToolCall {
  readonly operation: ApiOperation;
  readonly text: string | undefined;
}

/** A result at hand, as JSON text, or a call that the API has to answer. */
export type RequestAnswer =
  | {
      readonly result: string;
      /** The revision that `initialize` agrees to. */
      readonly protocolVersion?: string;
      /** The result is the list of tools. */
      readonly isList?: true;
    }
  | { readonly call: ToolCall };

/**
 * The answer to a request of a client.
 * @throws GatewayError mcp_unknown_method, mcp_unknown_tool, mcp_invalid_params, mcp_invalid_request
 */
export function answerTo(request: Envelope, tools: ApiTools): RequestAnswer {
  switch (request.method) {
    case 'initialize': {
      const { text, protocolVersion } = initializeResult(tools.api, request);
      return { result: text, protocolVersion };
    }
    case 'ping':
      return { result: '{}' };
    case 'tools/list':
      if (memberOf(request.text, request.body, 'cursor') !== undefined)
        throw new GatewayError('mcp_invalid_params', { message: 'Invalid cursor' });
      return { result: tools.list, isList: true };
    case 'tools/call':
      return { call: toolCall(request, tools) };
    default:
      throw new GatewayError('mcp_unknown_method');
  }
}

function toolCall({ text, body }: Envelope, tools: ApiTools): ToolCall {
  const name = memberOf(text, body, 'name');
  const given = memberOf(text, body, 'arguments');
  if (name === 'ambiguous' || given === 'ambiguous')
    throw new GatewayError('mcp_invalid_request', { message: 'invalid request: a member is repeated' });
  const written = name === undefined ? 'null' : cut(text, name);
  const operation = tools.operations.get(String(JSON.parse(written)));
  if (operation === undefined)
    throw new GatewayError('mcp_unknown_tool', { message: `Unknown tool: ${written}` });
  return { operation, text: given === undefined ? undefined : text.slice(given.start, given.end) };
}
