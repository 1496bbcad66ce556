// The suite knows no bearer: what stands before a session's endpoint and adds it. Everything else passes as it is.
//
//   node door.cjs SOCKET    waits at SOCKET for the session's runtime, which tells where its tools are, prints {"url": ...},
//                           and keeps the runtime's turn open until standard input ends
'use strict';
const http = require('node:http');
const net = require('node:net');
const { createInterface } = require('node:readline');

const door = net.createServer(runtime => {
    const lines = createInterface({ input: runtime });
    lines.once('line', line => {
        const { url, bearer } = JSON.parse(line);
        // The second line says that the prompt is there.
        lines.once('line', () => open(new URL(url), bearer));
    });
    process.stdin.on('end', () => runtime.end());
});
door.listen(process.argv[2]);

function open(target, bearer) {
    const proxy = http.createServer((request, response) => {
        const headers = [...request.rawHeaders, 'authorization', `Bearer ${bearer}`];
        const onward = http.request({ host: target.hostname, port: target.port, path: request.url, method: request.method, headers });
        onward.on('response', answer => {
            response.writeHead(answer.statusCode, answer.rawHeaders);
            response.flushHeaders();
            answer.on('data', data => response.write(data)).on('end', () => response.end()).on('error', () => response.destroy());
        });
        onward.on('error', () => response.destroy());
        request.on('data', data => onward.write(data)).on('end', () => onward.end());
        response.on('close', () => onward.destroy());
    });
    proxy.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ url: `http://127.0.0.1:${proxy.address().port}/mcp` })));
}

process.stdin.on('end', () => setTimeout(() => process.exit(0), 200)).resume();
