import type { Server } from 'node:http';
import { WebSocketServer } from 'ws';

const paths = ['/ws', '/websocket/echo'];
const largestMessage = 16 * 1024 * 1024;

export function isWebSocketPath(path: string): boolean {
  return paths.includes(path);
}

/** Answers WebSocket handshakes on `/ws` and sends every message back as it came, text or binary. */
export function attachWebSocket(server: Server): WebSocketServer {
  const webSockets = new WebSocketServer({ noServer: true, maxPayload: largestMessage });
  webSockets.on('connection', (socket) => {
    socket.on('error', () => undefined);
    socket.on('message', (data, isBinary) => {
      // Read the next message only when this one is out, so that a client that never reads cannot fill the memory.
      socket.pause();
      socket.send(data, { binary: isBinary }, () => {
        if (socket.readyState === socket.OPEN) socket.resume();
      });
    });
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    const [path] = (request.url ?? '').split('?', 1);
    if (path === undefined || !isWebSocketPath(path)) {
      socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    webSockets.handleUpgrade(request, socket, head, (webSocket) =>
      webSockets.emit('connection', webSocket, request),
    );
  });
  return webSockets;
}
