/** The gRPC server of the examples that have a service of their own. */
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import { loadSync, type Options } from '@grpc/proto-loader';

export interface UnaryService {
  readonly port: number;
  /** Ends at once, with the calls that are in progress. */
  close(): void;
}

/** Answers a call. An error becomes the status INTERNAL. */
type Method<Call, Answer> = (call: Call) => Answer | Promise<Answer>;

/**
 * Serves methods with one message each way on loopback.
 * @param proto the file that describes the service
 * @param name of the service, with its package
 * @param methods name → method
 */
export async function serveUnary<Call, Answer>(
  port: number,
  { proto, name, options }: { readonly proto: URL; readonly name: string; readonly options?: Options },
  methods: Readonly<Record<string, Method<Call, Answer>>>,
): Promise<UnaryService> {
  const definition = loadSync(fileURLToPath(proto), { keepCase: true, ...options });
  const server = new grpc.Server();
  server.addService(
    definition[name] as unknown as grpc.ServiceDefinition,
    Object.fromEntries(Object.entries(methods).map(([method, answer]) => [method, handlerOf(answer)])),
  );
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${String(port)}`, grpc.ServerCredentials.createInsecure(), (error, used) => {
      if (error === null) resolve(used);
      else reject(error);
    });
  });
  return { port: bound, close: () => server.forceShutdown() };
}

const handlerOf =
  <Call, Answer>(answer: Method<Call, Answer>): grpc.handleUnaryCall<Call, Answer> =>
  (call, callback) => {
    const run = async (): Promise<void> => {
      try {
        callback(null, await answer(call.request));
      } catch (error) {
        callback({ code: grpc.status.INTERNAL, details: String(error) });
      }
    };
    void run();
  };
