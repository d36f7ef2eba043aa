# Python, Java 17, Maven, Node, Go and the suite: everything but Spark and the jars of Pulsar.
# docker build -t pulsar-conformance . && docker run --rm pulsar-conformance run --adapter sample:go
FROM python:3.12-slim-trixie
RUN apt-get update -q && apt-get install -q -y --no-install-recommends git maven && rm -rf /var/lib/apt/lists/*
COPY --from=eclipse-temurin:17-jdk /opt/java/openjdk /opt/java/openjdk
COPY --from=node:20-trixie-slim /usr/local/bin/node /usr/local/bin/node
COPY --from=golang:1.24-trixie /usr/local/go /usr/local/go
ENV JAVA_HOME=/opt/java/openjdk PATH=/opt/java/openjdk/bin:/usr/local/go/bin:$PATH
COPY . /suite
RUN pip install --no-cache-dir -q -c /suite/constraints.txt "/suite[pulsar]" && rm -rf /suite
WORKDIR /work
ENTRYPOINT ["pulsar-conformance"]
CMD ["--help"]
