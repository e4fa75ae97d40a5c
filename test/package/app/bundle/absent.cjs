// What Nest itself requires where it is there, outside of any `try`. Nothing of luanest's is here: its optional peers need
// no word to a bundler.
const OPTIONAL_FOR_NEST = [
  'class-transformer',
  'class-validator',
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  '@nestjs/microservices/microservices-module',
  '@nestjs/microservices/microservices-module.js',
  '@nestjs/websockets/socket-module',
  '@nestjs/websockets/socket-module.js',
  '@nestjs/platform-express',
  '@nestjs/microservices',
  // Clients of the transports of @nestjs/microservices.
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  '@nats-io/transport-node',
  'amqp-connection-manager',
  'amqplib',
  'kafkajs',
  'mqtt',
  'nats',
];

const isAbsent = (name) => {
  try {
    require.resolve(name);
    return false;
  } catch {
    return true;
  }
};

exports.absent = () => OPTIONAL_FOR_NEST.filter(isAbsent);
