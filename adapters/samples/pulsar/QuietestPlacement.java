package com.acme;

import java.util.Comparator;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.ModularLoadManagerStrategy;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;
import org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData;

/** Chooses the candidate whose busiest resource is used least. */
public class QuietestPlacement implements ModularLoadManagerStrategy {

    @Override
    public Optional<String> selectBroker(
            Set<String> candidates, BundleData bundle, LoadData load, ServiceConfiguration conf) {
        return candidates.stream()
                .min(Comparator.comparingDouble(name -> usage(load.getBrokerData().get(name).getLocalData())));
    }

    private static double usage(LocalBrokerData broker) {
        return Stream.of(
                        broker.getCpu(),
                        broker.getMemory(),
                        broker.getDirectMemory(),
                        broker.getBandwidthIn(),
                        broker.getBandwidthOut())
                .mapToDouble(resource -> resource.percentUsage())
                .max()
                .orElse(0);
    }
}
